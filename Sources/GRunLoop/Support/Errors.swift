// SPDX-License-Identifier: Apache-2.0
// The error of ended loops, which is thrown, and the reports of misuse, which are logged or end the process.

import CGRun
import Glibc

extension GRunLoop {
    /// The loop's thread has ended, so what was asked of the loop can never happen.
    public struct LoopEndedError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Makes the error, for code that ends an operation in a handler of ``GRunLoop/addEndHandler(_:)``.
        public init() {}

        /// The meaning of the error, as one sentence.
        public var description: String { "the run loop's thread has ended; nothing can be performed on it any more" }
    }
}

/// Reports misuse of the library to GLib's log, domain "GRunLoop". A GTK program sees the messages where it sees GTK's
/// messages, and can make them fatal with `G_DEBUG=fatal-criticals`.
package enum Log {
    /// Logs a wrong call, which did nothing. The message names the function that the program called, in Swift or in C.
    package static func misuse(_ call: String, _ problem: String) {
        let caller = cgrun_get_caller().map { functionName(String(cString: $0)) }
        critical("\(caller ?? "GRunLoop.\(call)"): \(problem)")
    }

    /// Logs that something is wrong, but not a call.
    static func critical(_ message: String) {
        cgrun_log_critical(message)
    }

    /// Prints the message to standard error and ends the process, in every build: a release build drops the text of a
    /// `precondition`. Calls no log handler, so that a lock may be held.
    package static func fatal(_ message: String) -> Never { cgrun_end_process("GRunLoop: \(message)") }

    /// Ends the process because of a wrong call that cannot be ignored. `call` names the function.
    package static func fatal(_ call: String, _ problem: String) -> Never {
        cgrun_end_process("GRunLoop.\(call): \(problem)")
    }

    /// Logs a warning, for example that a call could do only a part of its work.
    package static func warning(_ message: String) {
        cgrun_log_warning(message)
    }

    /// Returns a function's name without its argument labels.
    static func functionName(_ signature: String) -> String {
        String(signature.prefix { $0 != "(" })
    }
}
