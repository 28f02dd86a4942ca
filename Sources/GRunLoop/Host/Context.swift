// SPDX-License-Identifier: Apache-2.0
// A GLib context for the program, which keeps it alive.

extension GRunLoop {
    /// A `GMainContext` that a loop serves, and a reference to it.
    ///
    /// The loop itself may let go of its context at any time: by ``remove(context:forMode:)`` on another thread, or
    /// because its thread ends. Two are equal if they are of the same context.
    ///
    /// ```swift
    /// loop.homeContext?.withPointer { g_source_attach(source, $0) }
    /// ```
    ///
    /// Threads: any. The corresponding GLib type is `GMainContext`, with a reference of its own.
    public struct Context: Hashable, Sendable {
        private let reference: Reference

        /// Takes a reference to a `GMainContext *`, and gives it back when the last copy goes. Threads: any.
        ///
        /// - Parameter pointer: the context, which has to live until the call returns.
        public init(_ pointer: OpaquePointer) {
            reference = Reference(pointer)
        }

        /// Calls the closure with the `GMainContext *`. To keep the pointer for longer, take a reference to it.
        ///
        /// - Returns: what the closure returns.
        /// - Throws: what the closure throws.
        ///
        /// Threads: any. What GLib lets do with a context of another thread is GLib's to say.
        public func withPointer<Result: ~Copyable, Failure: Error>(
            _ body: (OpaquePointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            defer { withExtendedLifetime(reference) {} }
            return try body(reference.pointer)
        }

        /// Whether the two are of the same context.
        public static func == (one: Context, other: Context) -> Bool {
            one.reference.pointer == other.reference.pointer
        }

        /// Hashes the context's address.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(reference.pointer)
        }
    }

    /// GLib counts references on any thread.
    private final class Reference: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) {
            Contexts.retain(pointer)
            self.pointer = pointer
        }

        deinit {
            Contexts.release(pointer)
        }
    }
}

extension GRunLoop.Context: CustomStringConvertible {
    /// The context's address, for reading. Threads: any.
    public var description: String { withPointer { "<GMainContext \(hexAddress($0))>" } }
}
