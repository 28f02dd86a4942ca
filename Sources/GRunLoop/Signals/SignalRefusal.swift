// SPDX-License-Identifier: Apache-2.0
// Explains why the library cannot listen to a signal, and what to do instead.

import Glibc

enum SignalRefusal {
    /// Returns the reason why a run loop cannot listen to the signal, and the remedy.
    static func refused(_ signal: Int32) -> String {
        isRefused(signal)
            ? "a run loop cannot watch \(name(of: signal)): \(remedy(for: signal))"
            : "a program cannot handle a signal with the number \(signal); use a signal such as SIGHUP or SIGTERM, or "
                + "one from SIGRTMIN to SIGRTMAX"
    }

    static func handled(_ signal: Int32) -> String {
        "other code in this process already handles \(name(of: signal)); pass replacing: true to take the signal "
            + "over until the last source ends, or leave the signal alone"
    }

    /// The remedy for a program that wants to listen to a refused signal.
    private static func remedy(for signal: Int32) -> String {
        switch signal {
        case SIGCHLD:
            "one SIGCHLD can report several children, and other code may wait for its own children; use a ChildSource "
                + "for each child"
        case SIGKILL, SIGSTOP: "no process can handle this signal; let the sender use SIGTERM or SIGTSTP"
        case SIGABRT: "abort() ends the process when the handler returns; use SIGTERM for an orderly end"
        case SIGTTIN, SIGTTOU:
            "a background process that handles this signal would retry its use of the terminal forever; set the signal "
                + "to SIG_IGN, so that a read fails with EIO and a write continues"
        case SIGTRAP: "GLib ends the process with this signal after a fatal message; let the process end, and debug it"
        default: "the failed instruction would fail again when the handler returns; let the process end, and debug it"
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
}

extension GRunLoop.SystemError {
    /// Makes the error for an error number of `rt_sigaction(2)`.
    init(errno: Int32, signal: Int32) {
        self =
            switch errno {
            case EBUSY: .signalHandled(signal)
            case EINVAL: .signalRefused(signal)
            default: .init(errno: errno, of: "rt_sigaction(2)")
            }
    }
}
