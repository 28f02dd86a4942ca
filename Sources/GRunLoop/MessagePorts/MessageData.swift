// SPDX-License-Identifier: Apache-2.0
// The bytes of a message between processes.

extension GRunLoop {
    /// Bytes that are sent to a ``MessagePort``, or that came from one.
    ///
    /// Data of more than 65,536 bytes is not copied. It is memory of the sender, which nobody can change any more, and
    /// the data keeps that memory. `count` takes constant time. The first access to the bytes checks that all of the
    /// memory is there, which takes some 40 ms for 1 GiB. If a page was never written, all of the memory reads as
    /// zeros. No sender of this library makes such memory.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFData`, GLib's is `GBytes`.
    public struct MessageData: Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
        enum Storage: Sendable {
            case array([UInt8])
            /// Memory that an object keeps.
            case kept(any AnyObject & Sendable, Memory)
            case received(MappedMemory)
        }

        /// Read only, and as long as its keeper lives.
        struct Memory: @unchecked Sendable {
            let bytes: UnsafeRawBufferPointer
        }

        let storage: Storage

        /// The bytes of an array, which are not copied. Threads: any.
        public init(_ bytes: [UInt8]) { storage = .array(bytes) }

        /// Copies bytes, as of `"text".utf8`. Threads: any.
        public init(_ bytes: some Sequence<UInt8>) { storage = .array(Array(bytes)) }

        /// As `[1, 2, 3]`; `[]` is no data. Threads: any.
        public init(arrayLiteral bytes: UInt8...) { storage = .array(bytes) }

        /// Memory that `keeper` keeps and nobody changes.
        init(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) {
            storage = .kept(keeper, Memory(bytes: bytes))
        }

        init(_ memory: MappedMemory) { storage = .received(memory) }

        /// Calls a closure with the bytes, which may be read during the call.
        ///
        /// - Throws: what the closure throws.
        ///
        /// Threads: any.
        public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            switch storage {
            case .array(let bytes): return try bytes.withUnsafeBytes(body)
            case .kept(let keeper, let memory):
                defer { withExtendedLifetime(keeper) {} }
                return try body(memory.bytes)
            case .received(let memory):
                defer { withExtendedLifetime(memory) {} }
                return try body(memory.bytes)
            }
        }

        /// Always 0. Threads: any.
        public var startIndex: Int { 0 }

        /// How many bytes there are. Threads: any.
        public var endIndex: Int {
            switch storage {
            case .array(let bytes): bytes.count
            case .kept(_, let memory): memory.bytes.count
            case .received(let memory): memory.count
            }
        }

        /// The byte at a position. A position outside of `indices` ends the process, with a message. Threads: any.
        public subscript(position: Int) -> UInt8 {
            // In a release build an array would end the process without a message, and raw memory is not checked.
            if position < 0 || position >= endIndex { refuse(position) }
            return switch storage {
            case .array(let bytes): bytes[position]
            case .kept(_, let memory): memory.bytes[position]
            case .received(let memory): memory.bytes[position]
            }
        }

        private func refuse(_ position: Int) -> Never {
            Log.fatal("MessageData", "there is no byte at position \(position) of \(count)")
        }

        /// Calls a closure with the bytes: by this a collection of them copies all at once.
        ///
        /// - Throws: what the closure throws.
        ///
        /// Threads: any.
        public func withContiguousStorageIfAvailable<Result>(
            _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
        ) rethrows -> Result? {
            try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
        }
    }
}
