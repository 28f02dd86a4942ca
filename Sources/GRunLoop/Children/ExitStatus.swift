// SPDX-License-Identifier: Apache-2.0
// The exit status of a child process.

import Glibc

extension GRunLoop {
    /// How a child process has ended.
    ///
    /// There is no corresponding Core Foundation type. The corresponding Foundation properties are
    /// `Process.terminationStatus` and `terminationReason`. In C, the corresponding value is the status of
    /// `waitpid(2)`.
    public enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
        /// The process has called `exit()`, or returned from `main()`.
        case exited(code: Int32)
        /// A signal has ended the process.
        case signalled(Int32, dumpedCore: Bool)

        /// The exit code, 0 to 255; nil if a signal has ended the process. Threads: any.
        public var code: Int32? { if case .exited(let code) = self { code } else { nil } }

        /// The signal that has ended the process; nil if the process has exited. Threads: any.
        public var signal: Int32? { if case .signalled(let signal, _) = self { signal } else { nil } }

        /// Whether the process has left a core dump. Threads: any.
        public var dumpedCore: Bool { self == .signalled(signal ?? 0, dumpedCore: true) }

        /// Whether the process has exited with code 0. Threads: any.
        public var isSuccess: Bool { self == .exited(code: 0) }

        /// The status as `waitpid(2)` reports it, for macros such as `WIFEXITED()` and for
        /// `g_spawn_check_wait_status()`. Threads: any.
        public var waitStatus: Int32 {
            switch self {
            case .exited(let code): code << 8
            case .signalled(let signal, let dumpedCore): signal | (dumpedCore ? 0x80 : 0)
            }
        }

        init(waitStatus status: Int32) {
            self =
                status & 0x7F == 0
                ? .exited(code: status >> 8 & 0xFF) : .signalled(status & 0x7F, dumpedCore: status & 0x80 != 0)
        }

        /// How the process has ended, in a few words. Threads: any.
        public var description: String {
            switch self {
            case .exited(let code): "exited with \(code)"
            case .signalled(let signal, let dumpedCore): "ended by signal \(signal)\(dumpedCore ? ", core dumped" : "")"
            }
        }
    }
}
