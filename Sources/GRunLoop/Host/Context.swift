// SPDX-License-Identifier: Apache-2.0
// The type by which a program holds a GLib context and keeps it alive.

extension GRunLoop {
    /// A counted reference to a `GMainContext`, such as a context that a loop serves.
    ///
    /// A value keeps the context alive, even if the loop releases the context. The loop releases an added context when
    /// any thread calls ``GRunLoop/remove(_:forMode:)-(GRunLoop.Context,_)``, or when the loop's thread ends. Two
    /// values are equal if they refer to the same context.
    ///
    /// ```swift
    /// loop.homeContext?.withPointer { g_source_attach(source, $0) }
    /// ```
    ///
    /// Threads: any. The corresponding GLib type is `GMainContext`.
    public struct Context: Hashable, Sendable {
        private let reference: Reference
        /// The `GMainContext *`, which lives as long as this value.
        var unretained: OpaquePointer { reference.pointer }

        /// Takes a reference to a `GMainContext *`. The reference is released when the last copy of the value is
        /// destroyed. Threads: any.
        ///
        /// - Parameter pointer: the context, which must live until the call returns.
        public init(_ pointer: OpaquePointer) {
            reference = Reference(pointer)
        }

        /// Calls the closure with the `GMainContext *`. To use the pointer after the call, take a reference to the
        /// context.
        ///
        /// - Returns: the value of the closure.
        /// - Throws: the error of the closure.
        ///
        /// Threads: any. GLib's documentation says which functions may be called for a context of another thread.
        public func withPointer<Result: ~Copyable, Failure: Error>(
            _ body: (OpaquePointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            defer { withExtendedLifetime(reference) {} }
            return try body(reference.pointer)
        }

        /// Returns whether both values refer to the same context.
        public static func == (one: Context, other: Context) -> Bool {
            one.reference.pointer == other.reference.pointer
        }

        /// Hashes the context's address.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(reference.pointer)
        }
    }

    /// Owns one reference to a `GMainContext`. It is Sendable, because any thread may change GLib's reference count.
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
    /// The context's address, as text for people. Threads: any.
    public var description: String { withPointer { "<GMainContext \(hexAddress($0))>" } }
}
