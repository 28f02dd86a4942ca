// SPDX-License-Identifier: Apache-2.0
// A context of GLib's that whoever asked for it keeps.

extension GRunLoop {
    /// A `GMainContext` that a loop serves. It is kept for as long as this is: the loop itself may let go of it at any
    /// time, by ``remove(context:forMode:)`` on another thread, or because its thread ends. Two are equal if they are
    /// of the same context.
    ///
    /// ```swift
    /// loop.homeContext?.withPointer { g_source_attach(source, $0) }
    /// ```
    ///
    /// Threads: any. The corresponding GLib type is `GMainContext`, with a reference of its own.
    public struct Context: Hashable, Sendable {
        private let reference: Reference

        /// Takes a reference to a `GMainContext *`.
        public init(_ pointer: OpaquePointer) {
            reference = Reference(pointer)
        }

        /// Calls the closure with the `GMainContext *`. Whoever keeps the pointer for longer takes a reference to it.
        public func withPointer<Result: ~Copyable, Failure: Error>(
            _ body: (OpaquePointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            defer { withExtendedLifetime(reference) {} }
            return try body(reference.pointer)
        }

        public static func == (one: Context, other: Context) -> Bool {
            one.reference.pointer == other.reference.pointer
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(reference.pointer)
        }
    }

    /// GLib counts them on any thread.
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
    public var description: String { withPointer { "<GMainContext \(hexAddress($0))>" } }
}
