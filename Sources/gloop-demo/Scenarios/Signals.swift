// SPDX-License-Identifier: Apache-2.0
// Scenario signals: the loop handles signals to the process, and restores their former actions afterwards.

import GRunLoop
import Glibc

/// Every queued signal is counted. While a mode does not run, its signals wait. The handler of another library is
/// replaced only if the program requests that, and is restored afterwards.
enum Signals {
    static let scenario = Scenario(
        "signals", "Signals are items: they are counted, belong to modes, and leave the process unchanged.",
        expected: """
            SIGUSR1  | heard on the main thread
            queued   | 1000 of 1000, while another mode ran
            SIGHUP   | refused: somebody handles it
            SIGHUP   | replaced, and heard
            SIGHUP   | given back
            SIGCHLD  | refused: use a ChildSource
            await    | SIGUSR1 and SIGUSR2
            process  | as before
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let mode: GRunLoop.Mode = "signals"
        let queued = __libc_current_sigrtmin() + 20
        let heard = try GRunLoop.SignalSource(SIGUSR1) { _, _ in
            log.line("SIGUSR1", "heard on \(isMainThread ? "the main" : "another") thread")
        }
        try loop.add(heard, forMode: mode)
        kill(getpid(), SIGUSR1)
        loop.run(mode: mode, for: .seconds(5), returningAfterSourceHandled: true)
        heard.invalidate()

        let count = Shared(0)
        let counter = try GRunLoop.SignalSource(queued) { source, more in
            if count.update({
                $0 += more; return $0
            }) == 1000 {
                source.invalidate()
            }
        }
        try loop.add(counter, forMode: mode)
        for _ in 0..<1000 { kill(getpid(), queued) }
        loop.run(mode: "another", for: .zero)
        let early = count.value
        loop.run(mode: mode, for: .seconds(5))
        log.line("queued", "\(count.value) of 1000, \(early == 0 ? "while another mode ran" : "too early")")

        try takeOver(loop, mode, log)
        do { _ = try GRunLoop.SignalSource(SIGCHLD) { _, _ in } } catch {
            log.line("SIGCHLD", "refused: \("\(error)".contains("ChildSource") ? "use a ChildSource" : "\(error)")")
        }
        log.line("await", awaited(loop, mode))
        let isAsBefore = [SIGUSR1, SIGUSR2, queued].allSatisfy { action(of: $0) == 0 }
        log.line("process", isAsBefore ? "as before" : "a handler is left")
    }

    private static func takeOver(_ loop: GRunLoop, _ mode: GRunLoop.Mode, _ log: Recorder) throws {
        signal(SIGHUP) { _ in }
        defer { signal(SIGHUP, SIG_DFL) }
        let theirs = action(of: SIGHUP)
        do { _ = try GRunLoop.SignalSource(SIGHUP) { _, _ in } } catch .signalHandled {
            log.line("SIGHUP", "refused: somebody handles it")
        }
        let source = try GRunLoop.SignalSource(SIGHUP, replacing: true) { source, _ in
            log.line("SIGHUP", "replaced, and heard")
            source.invalidate()
        }
        try loop.add(source, forMode: mode)
        kill(getpid(), SIGHUP)
        loop.run(mode: mode, for: .seconds(5))
        log.line("SIGHUP", action(of: SIGHUP) == theirs ? "given back" : "not given back")
    }

    private static func awaited(_ loop: GRunLoop, _ mode: GRunLoop.Mode) -> String {
        let answer = Shared<[Int32: Int]>([:])
        let task = Task.detached {
            for try await arrived in loop.signals([SIGUSR1, SIGUSR2], inModes: [mode]) {
                answer.update { $0.merge(arrived, uniquingKeysWith: +) }
                if answer.value.count == 2 { break }
            }
            loop.async(inModes: [mode]) { loop.stop() }
        }
        while action(of: SIGUSR1) == 0 || action(of: SIGUSR2) == 0 { usleep(300) }
        for signal in [SIGUSR1, SIGUSR2] { kill(getpid(), signal) }
        loop.run(mode: mode, for: .seconds(5))
        task.cancel()
        while action(of: SIGUSR1) != 0 { usleep(300) }
        let names = [SIGUSR1: "SIGUSR1", SIGUSR2: "SIGUSR2"]
        return answer.value.keys.sorted().compactMap { names[$0] }.joined(separator: " and ")
    }

    /// The address of the signal's handler; 0 if the signal has the default action.
    private static func action(of signal: Int32) -> Int {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }
}
