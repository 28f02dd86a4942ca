// SPDX-License-Identifier: Apache-2.0
// The bytes of a message between processes.

import CGRun

extension GRunLoop {
    /// Bytes that are sent to a ``MessagePort``, or that came from one.
    ///
    /// More than 65,536 of them come as memory of the sender's that nobody can change any more, and are not copied:
    /// the data keeps that memory.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFData`, GLib's is `GBytes`.
    public struct MessageData: Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
        enum Storage: Sendable {
            case array([UInt8])
            /// Memory that an object keeps.
            case kept(any AnyObject & Sendable, Memory)
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

        init(_ mapping: MappedMemory) { self.init(mapping.bytes, keptBy: mapping) }

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
            }
        }

        /// Always 0. Threads: any.
        public var startIndex: Int { 0 }

        /// How many bytes there are. Threads: any.
        public var endIndex: Int {
            switch storage {
            case .array(let bytes): bytes.count
            case .kept(_, let memory): memory.bytes.count
            }
        }

        /// The byte at a position. A position outside of `indices` ends the process, with a message. Threads: any.
        public subscript(position: Int) -> UInt8 {
            // In a release build an array would end the process without a message, and raw memory is not checked.
            if position < 0 || position >= endIndex { refuse(position) }
            return switch storage {
            case .array(let bytes): bytes[position]
            case .kept(_, let memory): memory.bytes[position]
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

/// Memory of another process's that it cannot change. Unmapped with the object.
final class MappedMemory: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    /// Nil and errno: see cgrun_memory_map().
    init?(_ memory: Int32, _ size: Int) {
        guard let first = cgrun_memory_map(memory, UInt64(size)) else { return nil }
        bytes = UnsafeRawBufferPointer(start: first, count: size)
    }

    deinit { cgrun_memory_unmap(bytes.baseAddress, UInt64(bytes.count)) }
}
