// SPDX-License-Identifier: Apache-2.0
// Why the library cannot listen to a signal, and what to do instead.

import Glibc

extension GRunLoop {
    /// Why the library cannot listen to a signal. A call that throws this error has changed nothing.
    ///
    /// Core Foundation has no such error.
    public enum SignalError: Error, Hashable, Sendable, CustomStringConvertible {
        /// No signal that a program may handle has this number.
        case notASignal(Int32)
        /// A run loop cannot listen to this signal; ``description`` says what to do instead.
        case refused(Int32)
        /// Code in this process has a handler for the signal, and that handler would not be called any more.
        case handled(Int32)
        /// The process or the system has no descriptor or memory left (`EMFILE`, `ENFILE`, `ENOSPC`, `ENOMEM`).
        case limitReached(errno: Int32)
        /// A sandbox forbids the system call `call`, or the kernel does not have it (`EPERM`, `EACCES`, `ENOSYS`).
        case forbidden(call: String, errno: Int32)
        /// This process was forked and did not exec().
        case forked

        /// What is wrong and what to do, as one sentence. Threads: any.
        public var description: String {
            switch self {
            case .notASignal(let signal):
                "no signal that a program can handle has the number \(signal); take SIGHUP, SIGINT, SIGTERM and so on, "
                    + "or one from SIGRTMIN to SIGRTMAX"
            case .refused(let signal):
                "\(Self.name(of: signal)) is not for a run loop: \(Self.remedy(for: signal))"
            case .handled(let signal):
                "somebody in this process handles \(Self.name(of: signal)) already; take it over with replacing, which "
                    + "gives it back afterwards, or leave it to them"
            case .limitReached(let errno):
                "no descriptor is left to listen to a signal with (\(String(cString: strerror(errno)))); close some or "
                    + "raise the limit"
            case .forbidden(let call, let errno): KernelRefusal.message(call, errno)
            case .forked: "\(Fork.reason). \(Fork.remedy)"
            }
        }

        /// What to do instead of listening to a refused signal.
        private static func remedy(for signal: Int32) -> String {
            switch signal {
            case SIGCHLD:
                "one tells of many children, and others in the process wait for theirs; use a ChildSource for each"
            case SIGKILL, SIGSTOP: "no process can handle it; have them send SIGTERM or SIGTSTP"
            case SIGABRT: "abort() ends the process once its handler has returned; end it in order with SIGTERM"
            case SIGTTIN, SIGTTOU:
                "a read or write of the terminal in the background would be tried again for ever; ignore it with "
                    + "SIG_IGN, and the call fails with EIO or goes on"
            case SIGTRAP: "GLib ends the process with it after a fatal message; let the process end, and debug it"
            default: "what has failed would fail again once the handler has returned; let the process end, and debug it"
            }
        }

        static func isRefused(_ signal: Int32) -> Bool {
            [
                SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT, SIGTRAP, SIGTTIN, SIGTTOU,
            ].contains(signal)
        }

        private static func name(of signal: Int32) -> String {
            switch signal {
            case SIGCHLD: "SIGCHLD"
            case SIGKILL: "SIGKILL"
            case SIGSTOP: "SIGSTOP"
            case SIGSEGV: "SIGSEGV"
            case SIGBUS: "SIGBUS"
            case SIGFPE: "SIGFPE"
            case SIGILL: "SIGILL"
            case SIGABRT: "SIGABRT"
            case SIGTRAP: "SIGTRAP"
            case SIGSYS: "SIGSYS"
            case SIGTTIN: "SIGTTIN"
            case SIGTTOU: "SIGTTOU"
            case SIGHUP: "SIGHUP"
            case SIGINT: "SIGINT"
            case SIGQUIT: "SIGQUIT"
            case SIGTERM: "SIGTERM"
            case SIGUSR1: "SIGUSR1"
            case SIGUSR2: "SIGUSR2"
            default: "signal \(signal)"
            }
        }

        init(errno: Int32, signal: Int32) {
            self =
                switch errno {
                case EBUSY: .handled(signal)
                case EINVAL: .notASignal(signal)
                default: .init(errno: errno, of: "rt_sigaction(2)")
                }
        }

        init(errno: Int32, of call: String) {
            self =
                if case .forbidden = KernelRefusal(errno) { .forbidden(call: call, errno: errno) } else {
                    .limitReached(errno: errno)
                }
        }
    }
}
