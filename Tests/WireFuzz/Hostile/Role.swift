// SPDX-License-Identifier: Apache-2.0
// Processes of this program with a role. They end with the process that has started them.

import GRunLoop
import Glibc
import TestSupport

final class Role {
    let process: pid_t
    private let output: Int32
    private var hasEnded = false

    /// Starts the process, and returns when it is ready.
    init(_ words: [String]) throws(Finding) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Finding(text: "no pipe (\(errno))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        var arguments = (["grun-wire-hostile"] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let error = posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, environ)
        close(ends[1])
        guard error == 0 else {
            close(ends[0])
            throw Finding(text: "\(words) cannot be started (\(error))")
        }
        self.process = process
        output = ends[0]
        guard readLine() == "ready" else { throw Finding(text: "\(words.joined(separator: " ")) is not ready") }
    }

    deinit {
        _ = end()
        close(output)
    }

    /// The next line of its output; nil if it has ended.
    func readLine() -> String? {
        var (line, byte) = ([UInt8](), UInt8(0))
        while true {
            let count = read(output, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// Kills the process. If the process has already ended, returns how it ended.
    func end() -> String? {
        guard !hasEnded else { return nil }
        hasEnded = true
        var status: Int32 = 0
        let early = waitpid(process, &status, WNOHANG) == process
        if !early {
            kill(process, SIGKILL)
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
            return nil
        }
        return status & 0x7f == 0 ? "ended with status \(status >> 8)" : "ended by signal \(status & 0x7f)"
    }
}
