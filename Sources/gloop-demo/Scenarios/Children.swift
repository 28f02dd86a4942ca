// SPDX-License-Identifier: Apache-2.0
// Scenario children: the end of a child process is an item of the loop, and other children are not touched.

import GRunLoop
import Glibc

/// 200 children run at the same time and end with their own codes. A process that is not our child is refused
/// immediately. If a wait for a child is cancelled, the child does not end, and the next wait returns the child's
/// status.
enum Children {
    static let scenario = Scenario(
        "children", "Child processes are items: only the source of a child reaps it.",
        expected: """
            callback  | exited with 3
            callback  | ended by signal 15
            at once   | 200 of 200 with their codes
            stranger  | no child
            await     | exited with 7
            cancelled | the child goes on, and its end is there for the next: ended by signal 9
            run       | returned finished
            left      | no child
            """, body: run)

    private static let mode: GRunLoop.Mode = "children"

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        for line in ["exit 3", "kill -TERM $$"] {
            let source = try GRunLoop.ChildSource(pid: start(line)) { log.line("callback", text($1)) }
            try loop.add(source, forMode: mode)
            loop.run(mode: mode, for: .seconds(20))
        }
        let right = Shared(0)
        for number in 0..<200 {
            let code = Int32(number)
            let source = try GRunLoop.ChildSource(pid: start("exit \(code)")) { _, outcome in
                if (try? outcome.get()) == .exited(code: code) { right.increment() }
            }
            try loop.add(source, forMode: mode)
        }
        let result = loop.run(mode: mode, for: .seconds(60))
        log.line("at once", "\(right.value) of 200 with their codes")
        do { _ = try GRunLoop.ChildSource(pid: getppid()) { _, _ in } } catch .notAChild {
            log.line("stranger", "no child")
        }

        log.line("await", awaited(loop, start("exit 7")))
        let child = start("exec sleep 3600")
        let task = Task.detached { try await loop.waitForExit(of: child, inModes: [mode]) }
        usleep(2000)
        task.cancel()
        let lives = kill(child, 0) == 0
        kill(child, SIGKILL)
        let end = awaited(loop, child)
        log.line("cancelled", "\(lives ? "the child goes on" : "ended"), and its end is there for the next: \(end)")
        log.line("run", "returned \(result)")
        var status: Int32 = 0
        log.line("left", waitpid(-1, &status, WNOHANG) < 0 ? "no child" : "a child")
    }

    private static func awaited(_ loop: GRunLoop, _ child: pid_t) -> String {
        let answer = Shared<String?>(nil)
        Task.detached {
            do { answer.value = "\(try await loop.waitForExit(of: child, inModes: [mode]))" } catch {
                answer.value = "\(error)"
            }
        }
        while answer.value == nil {
            loop.run(mode: mode, for: .milliseconds(10))
            usleep(300)
        }
        return answer.value ?? ""
    }

    private static func text(_ outcome: GRunLoop.ChildSource.Outcome) -> String {
        switch outcome {
        case .success(let status): "\(status)"
        case .failure(let error): "\(error)"
        }
    }

    private static func start(_ line: String) -> pid_t {
        var arguments = ["/bin/sh", "-c", line].map { (word: String) in strdup(word) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        return posix_spawn(&child, "/bin/sh", nil, nil, &arguments, environ) == 0 ? child : -1
    }
}
