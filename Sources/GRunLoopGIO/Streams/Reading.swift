// SPDX-License-Identifier: Apache-2.0
// Reads a piece of a stream in the fastest way that does not block the loop.

import CGRunGIO
import GRunLoop
import Glibc

extension GIO.InputStream {
    /// How GIO reads from a stream without blocking.
    enum Way: Equatable {
        /// A file of the kernel. Its pages that are in memory can be read without blocking.
        case descriptor(Int32)
        /// `g_input_stream_read_async` only calls `g_input_stream_read` on GIO's thread pool. We do this ourselves, so
        /// that the bytes go to an array directly.
        case threads
        /// `g_input_stream_read_async` waits in the loop, or in another process.
        case async

        init(_ stream: UnsafeMutablePointer<GInputStream>) {
            let object = UnsafeMutableRawPointer(stream)
            let instance = object.assumingMemoryBound(to: GTypeInstance.self)
            let isPollable =
                g_type_check_instance_is_a(instance, g_pollable_input_stream_get_type()) != 0
                && g_pollable_input_stream_can_poll(OpaquePointer(stream)) != 0
            let usesThreads = withClass(of: instance, g_input_stream_get_type()) { (own: GInputStreamClass, base) in
                unsafeBitCast(own.read_async, to: Int.self) == unsafeBitCast(base.read_async, to: Int.self)
            }
            guard usesThreads, !isPollable else {
                self = .async
                return
            }
            // A class that is derived from GIO's own may have a buffer between the descriptor and the reader.
            let isLocalFile =
                strcmp(g_type_name_from_instance(instance), "GLocalFileInputStream") == 0
                && g_type_check_instance_is_a(instance, g_file_descriptor_based_get_type()) != 0
            self = isLocalFile ? .descriptor(g_file_descriptor_based_get_fd(OpaquePointer(stream))) : .threads
        }
    }

    /// Reads some bytes.
    ///
    /// A file whose pages are in the kernel's memory is read without suspending the task, except after 2 ms, so that
    /// the loop serves others. This works for at most 4 MiB, and not with every file system: `tmpfs` and FUSE cannot
    /// do it. Otherwise the bytes are read on GIO's thread pool, and larger pieces are faster.
    ///
    /// - Parameter count: the largest number of bytes, at least zero. A single call reads at most 16 MiB.
    /// - Returns: the bytes, which may be fewer; empty at the end of the stream.
    /// - Throws: a ``GLibError``; the errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_read_async`.
    nonisolated(nonsending) public func read(upTo count: Int = 1 << 16) async throws -> [UInt8] {
        guard count >= 0 else { throw StreamGate.negativeCount }
        try gate.enter()
        defer { gate.leave() }
        guard GIO.isOnLoop else { throw GIO.WrongThreadError() }
        try Task.checkCancellation()
        let count = min(count, 1 << 24)
        if let bytes = cachedBytes(count) {
            if Int(g_get_monotonic_time()) > sliceEnd {
                await Task.yield()
                beginSlice()
            }
            return bytes
        }
        defer { beginSlice() }
        return way == .async ? try await readInLoop(count) : try await readOnPool(count)
    }

    func beginSlice() { sliceEnd = Int(g_get_monotonic_time()) + 2000 }

    /// The next bytes of a file, if the kernel has them in memory; otherwise nil, also after an error.
    private func cachedBytes(_ count: Int) -> [UInt8]? {
        // A larger piece would block the loop for long, and is worth the way to the pool.
        guard mayReadCached, case .descriptor(let descriptor) = way, count <= 1 << 22, !isClosed,
            g_input_stream_has_pending(pointer) == 0
        else { return nil }
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
            got = cgio_read_cached(descriptor, memory.baseAddress, gsize(count))
            initialized = max(0, got)
        }
        if got < 0, errno == EOPNOTSUPP || errno == ENOSYS { mayReadCached = false }
        return got < 0 ? nil : bytes
    }

    nonisolated(nonsending) private func readOnPool(_ count: Int) async throws -> [UInt8] {
        try await GIO.onPool { [self] cancellable, error in
            var got = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
                got = g_input_stream_read(pointer, memory.baseAddress, gsize(count), cancellable, error)
                initialized = max(0, got)
            }
            return got < 0 ? nil : bytes
        }
    }

    nonisolated(nonsending) func readInLoop(_ count: Int) async throws -> [UInt8] {
        // Taken while GIO uses it: after the end of the loop, GIO may still write to the memory.
        var memory = self.memory.take() ?? StreamMemory(count: count)
        if memory.bytes.count < count { memory = StreamMemory(count: count) }
        let got = try await GIO.call(keeping: memory) {
            g_input_stream_read_async(pointer, memory.bytes.baseAddress, gsize(count), 0, $0, $1, $2)
        } finish: { _, result, error in
            g_input_stream_read_finish(pointer, result, error)
        }
        self.memory = memory
        return Array(memory.bytes[..<got])
    }
}

/// Passes the class of an object, and a class from which it is derived.
func withClass<Class, Value>(
    of instance: UnsafeMutablePointer<GTypeInstance>, _ base: GType, _ body: (Class, Class) -> Value
) -> Value {
    // The class of an object that lives is loaded, and so are the classes from which it is derived.
    let own = UnsafeRawPointer(instance.pointee.g_class.unsafelyUnwrapped).assumingMemoryBound(to: Class.self)
    let base = UnsafeRawPointer(g_type_class_peek(base).unsafelyUnwrapped).assumingMemoryBound(to: Class.self)
    return body(own.pointee, base.pointee)
}
