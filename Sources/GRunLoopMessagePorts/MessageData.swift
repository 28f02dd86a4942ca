// SPDX-License-Identifier: Apache-2.0
// The bytes of a message between processes.

public import GRunLoop

extension GRunLoop {
    /// Bytes that are sent to a ``MessagePort``, or that came from a ``MessagePort``.
    ///
    /// Received data of more than 65,536 bytes is not copied. It refers to memory of the sender that no process can
    /// change any more, and keeps this memory alive. `count` takes constant time. The first access to the bytes checks
    /// that the sender has written every page, which takes about 40 ms for 1 GiB. If a page was never written, all of
    /// the memory reads as zeros. This library never sends such memory.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFData`. The GLib type is `GBytes`.
    public struct MessageData: Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
        enum Storage: Sendable {
            case array([UInt8])
            /// Memory that is valid while the object lives.
            case kept(any AnyObject & Sendable, Memory)
            case received(MappedMemory)
        }

        /// Memory that must not be written, and that must be read only while its keeper lives.
        struct Memory: @unchecked Sendable {
            let bytes: UnsafeRawBufferPointer
        }

        let storage: Storage

        /// Makes data from the bytes of an array, without a copy. Threads: any.
        public init(_ bytes: [UInt8]) { storage = .array(bytes) }

        /// Copies the bytes of a sequence, such as `"text".utf8`. Threads: any.
        public init(_ bytes: some Sequence<UInt8>) { storage = .array(Array(bytes)) }

        /// Makes data from an array literal, such as `[1, 2, 3]`; `[]` is empty data. Threads: any.
        public init(arrayLiteral bytes: UInt8...) { storage = .array(bytes) }

        /// Makes data from memory that `keeper` keeps valid, without a copy. That memory must not be changed.
        init(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) {
            storage = .kept(keeper, Memory(bytes: bytes))
        }

        init(_ memory: MappedMemory) { storage = .received(memory) }

        /// Calls a closure with the bytes, which may be read during the call.
        ///
        /// - Throws: the error of the closure.
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

        /// The number of bytes. Threads: any.
        public var endIndex: Int {
            switch storage {
            case .array(let bytes): bytes.count
            case .kept(_, let memory): memory.bytes.count
            case .received(let memory): memory.count
            }
        }

        /// The byte at a position. A position outside of `indices` ends the process, with a message. Threads: any.
        public subscript(position: Int) -> UInt8 {
            // Without this check, a release build would end the process without a message if the bytes are an array.
            // If the bytes are raw memory, the release build would not check the position at all.
            if position < 0 || position >= endIndex { refuse(position) }
            return switch storage {
            case .array(let bytes): bytes[position]
            case .kept(_, let memory): memory.bytes[position]
            case .received(let memory): memory.bytes[position]
            }
        }

        private func refuse(_ position: Int) -> Never {
            Log.fatal(
                "MessageData",
                "there is no byte at position \(position), because the data has \(count) bytes; compare it with count "
                    + "first")
        }

        /// Calls a closure with the bytes. Collections of the standard library use this method to copy all bytes in one
        /// step.
        ///
        /// - Throws: the error of the closure.
        ///
        /// Threads: any.
        public func withContiguousStorageIfAvailable<Result>(
            _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
        ) rethrows -> Result? {
            try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
        }
    }
}
