// SPDX-License-Identifier: Apache-2.0
// Transfers the input and the output of a process and waits for its end, as one operation of GIO.

import CGRunGIO

/// Moves all bytes of a process's pipes, and completes a `GTask` when the last part has ended. GLib's own function
/// fails if the process does not read all of its input.
///
/// Threads: the thread on which ``begin(with:input:endingAfter:_:_:_:)`` is called. All callbacks are called on this
/// thread. The transfer is Sendable only because ``GIO/call(cancellable:keeping:isolation:_:finish:)`` retains it.
final class ProcessTransfer: @unchecked Sendable {
    /// The bytes that were read from one pipe.
    final class Memory {
        private let stream = GRef<UnsafeMutablePointer<GOutputStream>>(
            full: g_memory_output_stream_new_resizable().unsafelyUnwrapped)

        var pointer: UnsafeMutablePointer<GOutputStream> { stream.pointer }

        var bytes: [UInt8] {
            let memory = UnsafeMutablePointer<GMemoryOutputStream>(OpaquePointer(pointer))
            let count = Int(g_memory_output_stream_get_data_size(memory))
            return [UInt8](UnsafeRawBufferPointer(start: g_memory_output_stream_get_data(memory), count: count))
        }
    }

    let output = Memory()
    let error = Memory()
    private var process: OpaquePointer?
    private var task: OpaquePointer?
    private var pendingParts = 0
    private var failure: UnsafeMutablePointer<GError>?
    private var sources: [UnsafeMutablePointer<GSource>] = []
    private var grace = Duration.zero

    deinit {
        if let process { g_object_unref(UnsafeMutableRawPointer(process)) }
    }

    /// Starts to write and to read.
    ///
    /// - Parameter grace: if nil, the operation ends when the pipes have ended, and does not end the process. Otherwise
    ///   the operation also waits for the end of the process. If such an operation is cancelled, it terminates the
    ///   process, and kills the process after this time.
    func begin(
        with subprocess: GIO.Subprocess, input: [UInt8], endingAfter grace: Duration? = nil,
        _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: @escaping GAsyncReadyCallback, _ data: gpointer
    ) throws(GLibError) {
        let process = subprocess.pointer
        let pipe = g_subprocess_get_stdin_pipe(process)
        guard input.isEmpty || pipe != nil else {
            throw GLibError(.invalidArgument, "the standard input of the process is not a pipe")
        }
        g_object_ref(UnsafeMutableRawPointer(process))
        self.process = process
        task = g_task_new(nil, cancellable, done, data)
        // This part keeps the operation from completing before all parts have begun.
        pendingParts = 1
        if let pipe { write(input, to: pipe, cancellable) }
        if let pipe = g_subprocess_get_stdout_pipe(process) { read(pipe, to: output, cancellable) }
        if let pipe = g_subprocess_get_stderr_pipe(process) { read(pipe, to: error, cancellable) }
        if let grace {
            self.grace = grace
            // This call has no cancellable, because the process must always be reaped.
            g_subprocess_wait_async(process, nil, processHasEnded, beginPart())
            attach(g_cancellable_source_new(cancellable), unsafeBitCast(isCancelled, to: GSourceFunc.self))
        }
        endPart(nil)
    }

    private func write(
        _ input: [UInt8], to pipe: UnsafeMutablePointer<GOutputStream>,
        _ cancellable: UnsafeMutablePointer<GCancellable>
    ) {
        // The program has already closed the input.
        if input.isEmpty && g_output_stream_is_closed(pipe) != 0 { return }
        let bytes = g_bytes_new(input, gsize(input.count))
        let source: UnsafeMutablePointer<GInputStream> = g_memory_input_stream_new_from_bytes(bytes)
        g_bytes_unref(bytes)
        splice(source, to: pipe, cancellable, inputIsWritten)
        g_object_unref(source)
    }

    private func read(
        _ pipe: UnsafeMutablePointer<GInputStream>, to memory: Memory,
        _ cancellable: UnsafeMutablePointer<GCancellable>
    ) {
        splice(pipe, to: memory.pointer, cancellable, outputIsRead)
    }

    private func splice(
        _ source: UnsafeMutablePointer<GInputStream>, to target: UnsafeMutablePointer<GOutputStream>,
        _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: @escaping GAsyncReadyCallback
    ) {
        let flags = GOutputStreamSpliceFlags(
            rawValue: cglib_splice_close_source.rawValue | cglib_splice_close_target.rawValue)
        g_output_stream_splice_async(target, source, flags, G_PRIORITY_DEFAULT, cancellable, done, beginPart())
    }

    private func beginPart() -> gpointer {
        pendingParts += 1
        return Unmanaged.passRetained(self).toOpaque()
    }

    fileprivate func endPart(_ error: UnsafeMutablePointer<GError>?) {
        if let error {
            if failure == nil { failure = error } else { g_error_free(error) }
        }
        pendingParts -= 1
        guard pendingParts == 0, let task else { return }
        self.task = nil
        for source in sources {
            g_source_destroy(source)
            g_source_unref(source)
        }
        sources = []
        if let failure { g_task_return_error(task, failure) } else { g_task_return_boolean(task, 1) }
        g_object_unref(UnsafeMutableRawPointer(task))
    }

    fileprivate func endProcess() {
        guard grace > .zero else { return endProcessByForce() }
        g_subprocess_send_signal(process, SIGTERM)
        let (seconds, attoseconds) = grace.components
        let milliseconds = Double(seconds) * 1000 + Double(attoseconds) / 1e15
        attach(g_timeout_source_new(guint(min(milliseconds.rounded(.up), Double(guint.max)))), graceIsOver)
    }

    fileprivate func endProcessByForce() { g_subprocess_force_exit(process) }

    private func attach(_ source: UnsafeMutablePointer<GSource>, _ callback: @escaping GSourceFunc) {
        g_source_set_callback(
            source, callback, Unmanaged.passRetained(self).toOpaque(),
            { data in data.map { Unmanaged<ProcessTransfer>.fromOpaque($0).release() } })
        g_source_attach(source, g_main_context_get_thread_default())
        sources.append(source)
    }
}

/// Returns the transfer of a part that has ended.
private func taken(_ data: gpointer?) -> ProcessTransfer? {
    data.map { Unmanaged<ProcessTransfer>.fromOpaque($0).takeRetainedValue() }
}

/// Returns the transfer of a source.
private func transfer(_ data: gpointer?) -> ProcessTransfer? {
    data.map { Unmanaged<ProcessTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private func spliceError(
    _ target: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?
) -> UnsafeMutablePointer<GError>? {
    var error: UnsafeMutablePointer<GError>?
    g_output_stream_splice_finish(UnsafeMutablePointer(OpaquePointer(target)), result, &error)
    return error
}

private let inputIsWritten: GAsyncReadyCallback = { target, result, data in
    var error = spliceError(target, result)
    // A broken pipe is not an error: the process has ended, or has closed its input.
    if GIO.has(&error, .brokenPipe) { g_clear_error(&error) }
    taken(data)?.endPart(error)
}

private let outputIsRead: GAsyncReadyCallback = { target, result, data in
    taken(data)?.endPart(spliceError(target, result))
}

private let processHasEnded: GAsyncReadyCallback = { _, _, data in taken(data)?.endPart(nil) }

private let isCancelled: @convention(c) (UnsafeMutablePointer<GCancellable>?, gpointer?) -> gboolean = { _, data in
    transfer(data)?.endProcess()
    return 0
}

private let graceIsOver: GSourceFunc = { data in
    transfer(data)?.endProcessByForce()
    return 0
}
