// SPDX-License-Identifier: Apache-2.0
// The type by which a program holds a GLib context and keeps it alive.

extension GRunLoop {
    /// A counted reference to a `GMainContext`, such as a context that a loop serves.
    ///
    /// The loop may release its own reference at any time: another thread calls
    /// ``GRunLoop/remove(_:forMode:)-(GRunLoop.Context,_)``, or the loop's thread ends. A value of this type keeps the
    /// context alive. Two values are equal if they refer to the same context.
    ///
    /// ```swift
    /// loop.homeContext?.withPointer { g_source_attach(source, $0) }
    /// ```
    ///
    /// Threads: any. The corresponding GLib type is `GMainContext`, with a reference of its own.
    public struct Context: Hashable, Sendable {
        private let reference: Reference
        /// The `GMainContext *`, which lives as long as this value.
        var unretained: OpaquePointer { reference.pointer }

        /// Takes a reference to a `GMainContext *`, and releases it with the last copy of the value. Threads: any.
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
        /// Threads: any. GLib's documentation says which of its functions may be called for a context of another
        /// thread.
        public func withPointer<Result: ~Copyable, Failure: Error>(
            _ body: (OpaquePointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            defer { withExtendedLifetime(reference) {} }
            return try body(reference.pointer)
        }

        /// Whether both values refer to the same context.
        public static func == (one: Context, other: Context) -> Bool {
            one.reference.pointer == other.reference.pointer
        }

        /// Hashes the context's address.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(reference.pointer)
        }
    }

    /// Retains a `GMainContext` as long as it lives. It is Sendable, because GLib counts references on any thread.
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
    /// A text for people: the context's address. Threads: any.
    public var description: String { withPointer { "<GMainContext \(hexAddress($0))>" } }
}
