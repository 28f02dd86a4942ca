// SPDX-License-Identifier: Apache-2.0
// Where a thread stood, by name.

import CGRun
import Glibc

extension GRunLoop {
    /// A function that was on a thread's stack.
    ///
    /// Threads: any.
    public struct StackFrame: Sendable, CustomStringConvertible {
        /// The address in the function at which the thread stood, or to which it was to return.
        public let address: UInt
        /// The function, a Swift one demangled; nil if its file has no symbol there, as a stripped one.
        public let function: String?
        /// The name of the program or the library that it is in, without folders; nil if it is in none.
        public let file: String?

        init(at address: UInt) {
            var function: UnsafeMutablePointer<CChar>?
            var file: UnsafeMutablePointer<CChar>?
            cgrun_symbol(address, &function, &file)
            defer {
                free(function)
                free(file)
            }
            self.address = address
            self.function = function.map { String(cString: $0) }
            self.file = file.map { String(cString: $0) }
        }

        /// "parse(_:) in hello".
        public var description: String {
            (function ?? "0x" + String(address, radix: 16)) + (file.map { " in \($0)" } ?? "")
        }
    }
}

/// Addresses, and once somebody asks for them their names: to look up hundreds of symbols takes milliseconds.
final class Stack: @unchecked Sendable {
    private let addresses: [UInt]
    private let lock = Lock.take()
    private var named: [GRunLoop.StackFrame]?

    init(_ addresses: [UInt]) { self.addresses = addresses }

    deinit { Lock.giveBack(lock) }

    var frames: [GRunLoop.StackFrame] {
        // In a forked child another thread may have the lock for ever.
        guard !Fork.isChild else { return addresses.map { GRunLoop.StackFrame(at: $0) } }
        if let known = lock.withLock({ named }) { return known }
        let frames = addresses.map { GRunLoop.StackFrame(at: $0) }
        return lock.withLock {
            let first = named ?? frames
            named = first
            return first
        }
    }
}
