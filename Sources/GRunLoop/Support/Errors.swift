// SPDX-License-Identifier: Apache-2.0
// The error of a loop whose thread has ended, and the functions that log messages or end the process.

import CGRun
import Glibc

extension GRunLoop {
    /// The error of an operation that can never complete, because the loop's thread has ended.
    public struct LoopEndedError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Creates the error. Use it in a handler of ``GRunLoop/addEndHandler(_:)`` to end your own operation with this
        /// error.
        public init() {}

        /// The meaning of the error, as one sentence.
        public var description: String {
            "the run loop's thread has ended, so the loop runs nothing any more; stop using a loop before its thread "
                + "ends"
        }
    }
}

/// Logs messages to GLib's log, domain "GRunLoop". A GTK program shows these messages among GTK's messages.
/// `G_DEBUG=fatal-criticals` makes wrong calls end the process.
package enum Log {
    /// Logs a wrong call that had no effect. The message names the function that the program called, in Swift or in C.
    package static func misuse(_ call: String, _ problem: String) {
        let caller = cgrun_get_caller().map { functionName(String(cString: $0)) }
        critical("\(caller ?? "GRunLoop.\(call)"): \(problem)")
    }

    /// Logs a problem that is not a wrong call.
    static func critical(_ message: String) {
        cgrun_log_critical(message)
    }

    /// Prints the message to standard error and ends the process. A `precondition` would not print its text in a
    /// release build. This function calls no log handler, so the caller may hold a lock.
    package static func fatal(_ message: String) -> Never { cgrun_end_process("GRunLoop: \(message)") }

    /// Ends the process because of a wrong call that cannot be ignored. `call` names the function.
    package static func fatal(_ call: String, _ problem: String) -> Never {
        cgrun_end_process("GRunLoop.\(call): \(problem)")
    }

    /// Logs a warning, for example that a call could do only a part of its work.
    package static func warning(_ message: String) {
        cgrun_log_warning(message)
    }

    static func functionName(_ signature: String) -> String {
        String(signature.prefix { $0 != "(" })
    }
}
