// SPDX-License-Identifier: Apache-2.0
// The functions on a thread's stack, and their names.

import CGRun
import CGRunDiagnostics
public import GRunLoop
import Glibc

extension GRunLoop {
    /// A function in a backtrace of a thread, with its file and an address.
    ///
    /// Threads: any.
    public struct StackFrame: Sendable, CustomStringConvertible {
        /// For the innermost function, the address of the interrupted instruction. For each other function, an address
        /// within the call instruction.
        public let address: UInt
        /// The name of the function, demangled if it is a Swift function. Nil if no symbol contains the address, as in
        /// a stripped file.
        public let function: String?
        /// The name of the program or library that contains the address, without folders. Nil if no file contains the
        /// address.
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

        /// The function and its file, as in "parse(_:) in hello". If the function's name is not known, the text
        /// contains the address instead.
        public var description: String {
            (function ?? "0x" + String(address, radix: 16)) + (file.map { " in \($0)" } ?? "")
        }
    }
}

/// The addresses of a backtrace. The names of the functions are looked up when `frames` is first read, because hundreds
/// of lookups take milliseconds.
final class Stack: @unchecked Sendable {
    private let addresses: [UInt]
    private let lock = Lock.take()
    private var named: [GRunLoop.StackFrame]?

    init(_ addresses: [UInt]) { self.addresses = addresses }

    deinit { Lock.giveBack(lock) }

    var frames: [GRunLoop.StackFrame] {
        // In a forked child, do not take the lock: it may stay locked forever, because a thread of the parent held it
        // during the fork.
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
