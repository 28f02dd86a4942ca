// SPDX-License-Identifier: Apache-2.0
// Waiting for the exit of children, with an item and with for await. Tests that change signal dispositions run in their
// own process.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

/// The outcome of a child source as text.
private func text(_ outcome: GRunLoop.ChildSource.Outcome) -> String {
    switch outcome {
    case .success(let status): "\(status)"
    case .failure(.statusLost): "lost"
    case .failure(let error): "\(error)"
    }
}

@Suite("Children") struct ChildTests {
    @Test(
        "a child's exit wakes the loop, and its source is performed once with the status",
        arguments: [
            ("exit 0", "exited with 0"), ("exit 3", "exited with 3"), ("exit 255", "exited with 255"),
            ("kill -TERM $$", "ended by signal 15"), ("kill -KILL $$", "ended by signal 9"),
        ])
    func delivery(line: String, end: String) throws {
        let thread = LoopThread.running()
        let trace = Recorder()
        let child = startShell("sleep 0.05; \(line)")
        let source = try GRunLoop.ChildSource(pid: child) { [id = thread.kernelID] source, outcome in
            trace("\(text(outcome)), \(source.pid == child), \(threadID == id), valid \(source.isValid)")
        }
        try thread.loop.add(source, forMode: .default)
        #expect(trace.wait(forCount: 1))
        #expect(trace.lines == ["\(end), true, true, valid false"])
        #expect(!exists(child), "it was not reaped")
        thread.finish()
        #expect(trace.lines.count == 1)
    }

    @Test("a child source also reports a child that exited earlier, or while another mode ran")
    func endedBefore() async throws {
        try await onFreshThread { loop in
            let child = startShell("exit 7")
            while !hasEnded(child) { usleep(300) }
            let trace = Recorder()
            let source = try GRunLoop.ChildSource(pid: child) { trace(text($1)) }
            try loop.add(source, forMode: "private")
            loop.run(for: .zero)
            #expect(trace.lines == [] && exists(child))
            // The source is the only item of the mode, and leaves it afterwards.
            #expect(loop.run(mode: "private", for: .seconds(5)) == .finished)
            #expect(trace.lines == ["exited with 7"])
        }
    }

    @Test("a status has the fields that waitpid() gives")
    func status() throws {
        #expect(GRunLoop.ExitStatus.exited(code: 3).waitStatus == 0x300)
        #expect(GRunLoop.ExitStatus.signalled(SIGTERM, dumpedCore: false).waitStatus == 15)
        #expect(GRunLoop.ExitStatus.signalled(SIGSEGV, dumpedCore: true).waitStatus == 0x8B)
        let (exited, killed) = (
            GRunLoop.ExitStatus.exited(code: 3), GRunLoop.ExitStatus.signalled(SIGSEGV, dumpedCore: true)
        )
        #expect(exited.code == 3 && exited.signal == nil && !exited.dumpedCore && !exited.isSuccess)
        #expect(killed.code == nil && killed.signal == SIGSEGV && killed.dumpedCore && !killed.isSuccess)
        #expect(GRunLoop.ExitStatus.exited(code: 0).isSuccess)
        #expect("\(killed)" == "ended by signal 11, core dumped")
    }

    @Test("only a child's pid is accepted: no unknown pids, groups, this process, strangers, threads, reaped children")
    func notAChild() async throws {
        let reaped = startShell("exit 0")
        reap(reaped)
        // The init process is not a child of ours, and a thread is not a process.
        let thread = LoopThread.running()
        for pid in [0, -1, .min, .max, getpid(), getppid(), 1, thread.kernelID, reaped] {
            #expect(throws: GRunLoop.SystemError.notAChild(pid)) { _ = try GRunLoop.ChildSource(pid: pid) { _, _ in } }
            await #expect(throws: GRunLoop.SystemError.notAChild(pid)) {
                _ = try await GRunLoop.main.waitForExit(of: pid)
            }
        }
        thread.finish()
    }

    @Test("of two sources for one child, one gets the status, and the other gets the error that the status was lost")
    func reapedByAnother() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let child = startSleeper()
            let sources = try (0..<2).map { _ in try GRunLoop.ChildSource(pid: child) { trace(text($1)) } }
            for source in sources { try loop.add(source, forMode: .default) }
            kill(child, SIGTERM)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(trace.lines == ["ended by signal 15", "lost"])
            let other = startShell("exit 1")
            let source = try GRunLoop.ChildSource(pid: other) { trace(text($1)) }
            try loop.add(source, forMode: .default)
            #expect(reap(other) == 1)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(trace.lines.last == "lost")
        }
    }

    @Test("invalidating or releasing a source neither ends nor reaps the child")
    func lifetime() async throws {
        try await onFreshThread { loop in
            let child = startSleeper()
            for _ in 0..<2 {
                let source = try GRunLoop.ChildSource(pid: child) { _, _ in }
                try loop.add(source, forMode: .default)
                source.invalidate()
                source.invalidate()
                #expect(!source.isValid && exists(child) && !hasEnded(child))
            }
            kill(child, SIGKILL)
            while !hasEnded(child) { usleep(300) }
            // This source is in a loop but does not take the status, so the next source gets it.
            let first = try GRunLoop.ChildSource(pid: child) { _, _ in }
            try loop.add(first, forMode: .default)
            first.invalidate()
            loop.run(for: .zero)
            let trace = Recorder()
            let second = try GRunLoop.ChildSource(pid: child) { trace(text($1)) }
            try loop.add(second, forMode: .default)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(trace.lines == ["ended by signal 9"])
        }
    }

    @Test("an actor's closure is called and released on that actor")
    func ofAnActor() throws {
        let trace = Recorder()
        let worker = try GRunLoop.Thread(name: "actor's") { here in
            let model = OfAnActor(trace)
            let source = try? GRunLoop.ChildSource(pid: startShell("exit 4"), isolation: here) { _, outcome in
                model.trace(text(outcome))
            }
            if let source { try? here.loop.add(source, forMode: .default) }
        }
        #expect(trace.wait(forCount: 2))
        #expect(trace.lines == ["exited with 4", "let go"])
        worker.stop()
        worker.join()
    }

    @Test("a child under a debugger is awaited without repeated passes, and reported when the debugger detaches")
    func debugged() {
        #expect(
            runScenario("children-debugged") == [
                "held", "few passes", "ended by signal 9", "held", "few passes", "awaited: ended by signal 9",
            ])
    }

    @Test("a description names the child")
    func words() async throws {
        try await onFreshThread { loop in
            let child = startShell("exit 0")
            let source = try GRunLoop.ChildSource(pid: child) { _, _ in }
            #expect(source.description.contains("<GRunLoop.ChildSource 0x"))
            #expect(source.description.contains("child = \(child),"))
            try loop.add(source, forMode: .default)
            let trace = GRunLoop.Trace()
            loop.startTracing(trace)
            loop.run(for: .seconds(20))
            loop.stopTracing()
            #expect(trace.lines.contains { $0.hasSuffix("child \(child)") })
        }
    }

    @Test("with 100 children of GSubprocess, 100 children of ours get their own statuses, and GIO gets the rest")
    func besideGSubprocess() async throws {
        try await onFreshThread { loop in
            let (ours, theirs) = (Shared<[Int32: Int32]>([:]), Shared<[Int: Int32]>([:]))
            var expected: [Int32: Int32] = [:]
            loop.keepAlive()
            // Starts them in a run, so that they complete in this loop's context.
            loop.perform {
                for number in 0..<100 {
                    startSubprocess("exit \(255 - number)") { code in theirs.update { $0[number] = code } }
                }
            }
            for number in 0..<100 {
                let code = Int32(number)
                let child = startShell("exit \(code)")
                expected[child] = code
                let source = try GRunLoop.ChildSource(pid: child) { source, outcome in
                    ours.update { $0[source.pid] = (try? outcome.get())?.code }
                }
                try loop.add(source, forMode: .default)
            }
            let end = GRunLoop.now.advanced(by: .seconds(60))
            while ours.value.count < 100 || theirs.value.count < 100, GRunLoop.now < end {
                loop.run(for: .milliseconds(20))
            }
            #expect(ours.value == expected)
            let right = Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, Int32(255 - $0)) })
            #expect(theirs.value == right)
        }
    }

    private func runScenario(_ name: String) -> [String] {
        let child = runChild(name, timeout: .seconds(120))
        #expect(child.status == 0, "\(child.errors)")
        #expect(child.errors == "")
        return child.output
    }

    @Test("500 children together, then many in a row: all exit codes are right, no descriptor or zombie remains")
    func many() {
        #expect(
            runScenario("children-many") == [
                "500 at once: all right", "2000 in a row: all right", "no descriptor left", "no child left",
            ])
    }

    @Test(
        "an ignored SIGCHLD or SA_NOCLDWAIT is reported immediately; a stranger's pid is refused as usual")
    func discarded() {
        #expect(
            runScenario("children-discarded") == [
                "ignored: lost, lost, stranger", "SA_NOCLDWAIT: lost, lost, stranger", "later: lost", "before: 5",
            ])
    }

    @Test("at the descriptor limit an error is thrown, and a later source can wait for the child")
    func limit() { #expect(runScenario("children-without-descriptors") == ["limitReached", "exited with 6"]) }

    @Test("in a sandbox without pidfd_open() the error names the remedy", arguments: ["ENOSYS", "EPERM"])
    func sandbox(error: String) {
        #expect(runScenario("children-sandboxed-\(error)") == ["unsupported: g_child_watch_add", "reaped: 2"])
    }
}

@Suite("Children for await") struct ChildExitTests {
    @Test("a task can await the exit of a child, also on an actor of the loop")
    func awaited() async throws {
        try await withWorker { loop in
            let exited = try await loop.waitForExit(of: startShell("exit 9"))
            let killed = try await loop.waitForExit(of: startShell("kill -USR1 $$"))
            #expect(exited == .exited(code: 9) && killed == .signalled(SIGUSR1, dumpedCore: false))
            let child = startShell("exit 1")
            while !hasEnded(child) { usleep(300) }
            let ended = try await loop.waitForExit(of: child)
            #expect(ended == .exited(code: 1))
        }
    }

    @Test("many children are awaited together, each with its exit code")
    func many() async throws {
        try await withWorker { loop in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    group.addTask { try await loop.waitForExit(of: startShell("exit \(number)")).code == Int32(number) }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("cancelling neither ends the child nor takes its status, also right before the exit")
    func cancelled() async throws {
        try await withWorker { loop in
            let child = startSleeper()
            let task = Task { try await loop.waitForExit(of: child) }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(exists(child) && !hasEnded(child))
            kill(child, SIGTERM)
            let end = try await loop.waitForExit(of: child)
            #expect(end == .signalled(SIGTERM, dumpedCore: false))
            for delay in 0..<40 {
                let child = startShell("exit 8")
                let task = Task { try await loop.waitForExit(of: child) }
                usleep(useconds_t(delay * 60))
                task.cancel()
                // Either the task or the next waiter gets the status.
                let first = try? await task.value
                let status = if let first { first } else { try await loop.waitForExit(of: child) }
                #expect(status == .exited(code: 8))
            }
        }
    }

    @Test("the end of the loop ends the wait, and the child continues")
    func loopEnded() async throws {
        let worker = try GRunLoop.Thread(name: "ends")
        let loop = worker.loop
        let child = startSleeper()
        let task = Task { try await loop.waitForExit(of: child) }
        try await Task.sleep(for: .milliseconds(5))
        worker.stop()
        await worker.waitUntilEnded()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await loop.waitForExit(of: child) }
        #expect(!hasEnded(child))
        kill(child, SIGKILL)
        reap(child)
    }

    @Test("the wait throws if another waiter reaps the child")
    func lost() async throws {
        try await withWorker { loop in
            let child = startSleeper()
            let task = Task { try await loop.waitForExit(of: child) }
            try await Task.sleep(for: .milliseconds(5))
            kill(child, SIGKILL)
            reap(child)
            do {
                // The task may have reaped the child first.
                #expect(try await task.value == .signalled(SIGKILL, dumpedCore: false))
            } catch {
                #expect(error as? GRunLoop.SystemError == .statusLost(child))
            }
        }
    }
}

/// Returns true if a child has exited and was not reaped.
private func hasEnded(_ child: pid_t) -> Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
}
