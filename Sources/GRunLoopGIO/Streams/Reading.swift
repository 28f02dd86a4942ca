// SPDX-License-Identifier: Apache-2.0
// Reads a piece of a stream in the fastest way that does not block the loop.

import CGRunGIO
import GRunLoop
import Glibc

extension GIO.InputStream {
    /// The way in which GIO reads from a stream without blocking.
    enum Way: Equatable {
        /// A file with a descriptor. Pages that are in the page cache can be read without blocking.
        case descriptor(Int32)
        /// `g_input_stream_read_async` only calls `g_input_stream_read` on GIO's thread pool. The library itself makes
        /// this call on the pool, so that the bytes are read directly into an array.
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
            // A subclass of GIO's class may have a buffer between the descriptor and the reader, so the class must be
            // GIO's own.
            let isLocalFile =
                strcmp(g_type_name_from_instance(instance), "GLocalFileInputStream") == 0
                && g_type_check_instance_is_a(instance, g_file_descriptor_based_get_type()) != 0
            self = isLocalFile ? .descriptor(g_file_descriptor_based_get_fd(OpaquePointer(stream))) : .threads
        }
    }

    /// Reads some bytes.
    ///
    /// If the pages of a file are in the page cache, the function reads them without suspending the task. After 2 ms of
    /// such reads, it suspends the task once, so that the loop can serve other work. This works for pieces of at most 4
    /// MiB, but not on `tmpfs` and FUSE. Otherwise the bytes are read on GIO's thread pool, where larger pieces are
    /// faster.
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

    /// Returns the next bytes of a file if they are in the page cache. Otherwise, and after an error, returns nil.
    private func cachedBytes(_ count: Int) -> [UInt8]? {
        // A larger piece would block the loop for too long, and the switch to the pool costs little in comparison.
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
        // Takes the memory out of the property while GIO uses it, because GIO may still write to the memory after the
        // end of the loop.
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

/// Calls a closure with the class of an object, and with a class from which the object's class is derived.
func withClass<Class, Value>(
    of instance: UnsafeMutablePointer<GTypeInstance>, _ base: GType, _ body: (Class, Class) -> Value
) -> Value {
    // While an object lives, its class is loaded, and so are the classes from which this class is derived.
    let own = UnsafeRawPointer(instance.pointee.g_class.unsafelyUnwrapped).assumingMemoryBound(to: Class.self)
    let base = UnsafeRawPointer(g_type_class_peek(base).unsafelyUnwrapped).assumingMemoryBound(to: Class.self)
    return body(own.pointee, base.pointee)
}
