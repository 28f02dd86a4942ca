// SPDX-License-Identifier: Apache-2.0
// Waits for the end of a process, and collects its output.

import CGRunGIO
public import GRunLoop

extension GIO.Subprocess {
    /// Waits until the process has ended, and returns its status. Many tasks may wait for the same process.
    ///
    /// If the standard output or error is a pipe, read the pipe before this call. A process does not end while it waits
    /// for room in a full pipe.
    ///
    /// Cancelling the task ends the wait, but not the process.
    ///
    /// - Throws: `CancellationError` if the task was cancelled; ``GIO/WrongThreadError`` on a thread without a loop;
    ///   `GRunLoop.LoopEndedError` if the loop ends.
    ///
    /// Threads: as for ``GIO/call(cancellable:keeping:isolation:_:finish:)``. The corresponding GLib function is
    /// `g_subprocess_wait_async`.
    nonisolated(nonsending) public func wait() async throws -> GRunLoop.ExitStatus {
        try await GIO.call {
            g_subprocess_wait_async(pointer, $0, $1, $2)
        } finish: { _, result, error in
            _ = g_subprocess_wait_finish(pointer, result, error)
        }
        return status
    }

    /// The status of a process that has ended.
    var status: GRunLoop.ExitStatus {
        let status = g_subprocess_get_status(pointer)
        return status & 0x7F == 0
            ? .exited(code: status >> 8 & 0xFF) : .signalled(status & 0x7F, dumpedCore: status & 0x80 != 0)
    }

    /// Writes the input and reads the output and the error at the same time. Then waits until the process has ended.
    ///
    /// Only memory limits the length of the output. The call also waits for other processes that hold the output's
    /// pipe, such as a daemon that the process has started.
    ///
    /// Cancelling the task ends the call and closes the pipes, but does not end the process.
    ///
    /// - Parameter input: the bytes for the standard input, which is then closed. A process need not read all bytes.
    /// - Returns: the bytes of the standard output and of the standard error. The bytes are empty for an output that is
    ///   not a pipe.
    /// - Throws: ``GIO/ErrorCode/invalidArgument`` if `input` has bytes but the standard input is not a pipe; the error
    ///   of a stream; the errors of ``wait()``.
    ///
    /// Do not use the streams during and after the call. Threads: as for ``wait()``. The corresponding GLib
    /// function is `g_subprocess_communicate_async`, which fails if the process does not read all of its input.
    nonisolated(nonsending) public func communicate(
        input: some Sequence<UInt8> = []
    ) async throws -> (output: [UInt8], error: [UInt8]) {
        let input = Array(input)
        let transfer = ProcessTransfer()
        try await GIO.call(keeping: transfer) {
            try transfer.begin(with: self, input: input, $0, $1, $2)
        } finish: { _, result, error in
            _ = g_task_propagate_boolean(result, error)
        }
        _ = try await wait()
        return (transfer.output.bytes, transfer.error.bytes)
    }

    /// Calls ``communicate(input:)`` with text, and returns text. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// - Throws: the errors of ``communicate(input:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_subprocess_communicate_utf8_async`.
    nonisolated(nonsending) public func communicateText(
        input: String = ""
    ) async throws -> (output: String, error: String) {
        let (output, error) = try await communicate(input: input.utf8)
        return (String(decoding: output, as: UTF8.self), String(decoding: error, as: UTF8.self))
    }
}
