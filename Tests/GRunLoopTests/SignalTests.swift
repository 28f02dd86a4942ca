// SPDX-License-Identifier: Apache-2.0
// Signals as items. Each test uses a signal of its own. Tests of process-wide effects are in SignalProcessTests.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

@Suite("Signals") struct SignalTests {
    @Test("a signal wakes the loop, and its source is performed on the loop's thread with the number of signals")
    func delivery() throws {
        let signal = queuedSignal(0)
        let thread = LoopThread.running()
        let (count, isThere) = (Shared(0), Shared(true))
        let source = try GRunLoop.SignalSource(signal) { [id = thread.kernelID] source, more in
            count.update { $0 += more }
            if source.signal != signal || threadID != id { isThere.value = false }
        }
        try thread.loop.add(source, forMode: .default)
        thread.waitUntilAsleep()
        sendToProcess(signal)
        #expect(count.wait { $0 == 1 })
        sendToProcess(signal, times: 1000)
        #expect(count.wait { $0 == 1001 })
        #expect(isThere.value)
        source.invalidate()
        #expect(disposition(of: signal) == "default")
        thread.finish()
    }

    @Test("signals are counted before the source is in a loop, and while another mode runs")
    func counted() async throws {
        try await onFreshThread { loop in
            let signal = queuedSignal(1)
            let trace = Recorder()
            let source = try GRunLoop.SignalSource(signal) { _, count in trace("\(count)") }
            raiseHere(signal, times: 3)
            try loop.add(source, forMode: .default)
            loop.keepAlive("other")
            loop.run(mode: "other", for: .zero)
            #expect(trace.lines == [])
            raiseHere(signal, times: 2)
            loop.run(for: .zero)
            #expect(trace.lines == ["5"])
            // Signals are also counted after the source has left the loop.
            loop.remove(source, forMode: .default)
            raiseHere(signal)
            loop.run(for: .zero)
            try loop.add(source, forMode: .common)
            loop.run(for: .zero)
            #expect(trace.lines == ["5", "1"])
            source.invalidate()
        }
    }

    @Test("two loops and two sources of one loop each get all signals; the last source restores the disposition")
    func several() async throws {
        let signal = queuedSignal(2)
        let counts = Shared([0, 0, 0])
        let threads = [LoopThread.running(), LoopThread.running()]
        let sources = try (0..<3).map { number in
            let source = try GRunLoop.SignalSource(signal) { _, count in counts.update { $0[number] += count } }
            try threads[number % 2].loop.add(source, forMode: .default)
            return source
        }
        sendToProcess(signal, times: 100)
        #expect(counts.wait { $0 == [100, 100, 100] }, "\(counts.value)")
        sources[0].invalidate()
        sendToProcess(signal)
        #expect(counts.wait { $0 == [100, 101, 101] }, "\(counts.value)")
        sources[1].invalidate()
        #expect(disposition(of: signal) != "default")
        sources[2].invalidate()
        #expect(disposition(of: signal) == "default")
        for thread in threads { thread.finish() }
    }

    @Test("a source that its own callout invalidates is not performed again, and stops listening")
    func endsItself() async throws {
        try await onFreshThread { loop in
            let signal = queuedSignal(3)
            let trace = Recorder()
            let source = try GRunLoop.SignalSource(signal) { source, count in
                trace("\(count)")
                raiseHere(signal)
                source.invalidate()
                trace("\(disposition(of: signal)), valid \(source.isValid)")
            }
            try loop.add(source, forMode: .default)
            raiseHere(signal, times: 2)
            #expect(loop.run(for: .seconds(5)) == .finished)
            #expect(trace.lines == ["2", "default, valid false"])
        }
    }

    @Test("a nested run in a callout gets the later signals, and no signal is counted twice")
    func nested() async throws {
        try await onFreshThread { loop in
            let signal = queuedSignal(4)
            let trace = Recorder()
            let source = try GRunLoop.SignalSource(signal) { _, count in
                trace("\(count)")
                guard trace.lines.count == 1 else { return }
                loop.run(for: .zero)
                raiseHere(signal, times: 2)
                loop.run(for: .zero)
            }
            try loop.add(source, forMode: .default)
            raiseHere(signal, times: 3)
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(trace.lines == ["3", "2"])
            source.invalidate()
        }
    }

    @Test(
        "signals that are unsuitable for a run loop are refused, and the message names the alternative",
        arguments: [
            (SIGCHLD, "ChildSource"), (SIGKILL, "SIGTERM"), (SIGSTOP, "SIGTSTP"), (SIGSEGV, "debug"),
            (SIGBUS, "debug"), (SIGFPE, "debug"), (SIGILL, "debug"), (SIGABRT, "SIGTERM"),
            (SIGTRAP, "debug"), (SIGSYS, "debug"), (SIGTTIN, "SIG_IGN"), (SIGTTOU, "SIG_IGN"),
        ])
    func refused(signal: Int32, remedy: String) {
        let before = disposition(of: signal)
        do throws(GRunLoop.SystemError) {
            _ = try GRunLoop.SignalSource(signal, replacing: true) { _, _ in }
            Issue.record("not refused")
        } catch {
            #expect(error == .signalRefused(signal))
            #expect(error.description.contains(remedy), "\(error)")
        }
        #expect(disposition(of: signal) == before)
    }

    @Test("unknown signals, and libc's own, are an error", arguments: [0, -1, 32, 33, 65, 1000, .max, .min])
    func notASignal(signal: Int32) {
        #expect(throws: GRunLoop.SystemError.signalRefused(signal)) {
            _ = try GRunLoop.SignalSource(signal) { _, _ in }
        }
    }

    @Test("a foreign handler is an error, and stays; on request it is replaced, and restored later")
    func handled() async throws {
        try await onFreshThread { loop in
            let number = queuedSignal(5)
            Handlers.install(for: number)
            let theirs = disposition(of: number)
            #expect(throws: GRunLoop.SystemError.signalHandled(number)) {
                _ = try GRunLoop.SignalSource(number) { _, _ in }
            }
            #expect(disposition(of: number) == theirs)
            let trace = Recorder()
            let source = try GRunLoop.SignalSource(number, replacing: true) { _, _ in trace("heard") }
            #expect(disposition(of: number) != theirs)
            // The next source finds our handler, which is not foreign.
            let second = try GRunLoop.SignalSource(number) { _, _ in }
            try loop.add(source, forMode: .default)
            raiseHere(number)
            loop.run(for: .zero)
            #expect(trace.lines == ["heard"])
            source.invalidate()
            #expect(disposition(of: number) != theirs)
            second.invalidate()
            #expect(disposition(of: number) == theirs)
            signal(number, SIG_DFL)
        }
    }

    @Test("an ignored signal is received, and ignored again afterwards")
    func ignored() async throws {
        try await onFreshThread { loop in
            let number = queuedSignal(6)
            signal(number, SIG_IGN)
            let trace = Recorder()
            let source = try GRunLoop.SignalSource(number) { _, _ in trace("heard") }
            try loop.add(source, forMode: .default)
            raiseHere(number)
            loop.run(for: .zero)
            #expect(trace.lines == ["heard"])
            source.invalidate()
            #expect(disposition(of: number) == "ignored")
            signal(number, SIG_DFL)
        }
    }

    @Test("a handler that other code has installed meanwhile stays, also for the next source")
    func taken() throws {
        let number = queuedSignal(7)
        let source = try GRunLoop.SignalSource(number) { _, _ in }
        Handlers.install(for: number)
        let theirs = disposition(of: number)
        #expect(throws: GRunLoop.SystemError.signalHandled(number)) {
            _ = try GRunLoop.SignalSource(number) { _, _ in }
        }
        source.invalidate()
        #expect(disposition(of: number) == theirs)
        // Other code takes the signal over while a source of ours listens.
        signal(number, SIG_DFL)
        let first = try GRunLoop.SignalSource(number) { _, _ in }
        Handlers.install(for: number)
        let second = try GRunLoop.SignalSource(number, replacing: true) { _, _ in }
        #expect(disposition(of: number) != theirs)
        first.invalidate()
        second.invalidate()
        #expect(disposition(of: number) == theirs)
        signal(number, SIG_DFL)
    }

    @Test("a source that is released, or was in a loop that ends, stops listening")
    func lifetime() throws {
        let signal = queuedSignal(8)
        let thread = LoopThread.running()
        do {
            let source = try GRunLoop.SignalSource(signal) { _, _ in }
            try thread.loop.add(source, forMode: .default)
            let loose = try GRunLoop.SignalSource(signal) { _, _ in }
            withExtendedLifetime(loose) {}
        }
        // The loop keeps its source.
        #expect(disposition(of: signal) != "default")
        thread.finish()
        #expect(disposition(of: signal) == "default")
    }

    @Test("the handler preserves errno, and interrupts no system call of other threads")
    func harmless() throws {
        let signal = queuedSignal(9)
        let source = try GRunLoop.SignalSource(signal) { _, _ in }
        let pipe = Pipe()
        // Makes the handler's write fail. Only this test uses the descriptor's number meanwhile.
        let saved = dup(source.eventDescriptor)
        dup2(pipe.readEnd, source.eventDescriptor)
        unblock(signal)
        errno = 77
        let result = raise(signal)
        let after = errno
        dup2(saved, source.eventDescriptor)
        close(saved)
        #expect(result == 0 && after == 77)

        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        let outcome = Shared<(Int, Int32)?>(nil)
        let isThere = Shared<pthread_t?>(nil)
        let reader = startThread { [end = ends[0]] in
            unblock(signal)
            isThere.value = pthread_self()
            var byte: UInt8 = 0
            let count = read(end, &byte, 1)
            outcome.value = (count, errno)
        }
        #expect(isThere.wait { $0 != nil })
        for _ in 0..<50 {
            pthread_kill(reader, signal)
            usleep(100)
        }
        #expect(outcome.value == nil, "a system call was interrupted")
        #expect(write(ends[1], "x", 1) == 1)
        pthread_join(reader, nil)
        #expect(outcome.value?.0 == 1)
        for end in ends { close(end) }
        source.invalidate()
    }

    @Test("a source ends only when no handler uses its descriptor any more, since another file may get the number then")
    func numbersOfOthers() throws {
        let signal = queuedSignal(10)
        let source = try GRunLoop.SignalSource(signal) { _, _ in }
        // The counter is full, and a write waits for a reader. So the handler stays in its write.
        let event = source.eventDescriptor
        var count = UInt64.max - 1
        #expect(write(event, &count, 8) == 8 && fcntl(event, F_SETFL, 0) == 0)
        let id = Shared<pid_t>(0)
        let sender = startThread {
            id.value = threadID
            raiseHere(signal)
        }
        let number = "0x" + String(event, radix: 16)
        #expect(waitUntil { systemCall(of: id.value).dropFirst().first == number }, "no handler is in its write")
        let isReleased = Shared(false)
        let reader = startThread {
            usleep(50_000)
            isReleased.value = true
            var count: UInt64 = 0
            _ = read(event, &count, 8)
        }
        source.invalidate()
        #expect(isReleased.value, "the handler is still in its write")
        for thread in [sender, reader] { pthread_join(thread, nil) }
        #expect(disposition(of: signal) == "default")
        withExtendedLifetime(source) {}
    }

    @Test("threads add and remove sources while signals arrive: each remaining source receives its signals")
    func manyThreads() throws {
        let signal = queuedSignal(11)
        let thread = LoopThread.running()
        let heard = Shared(0)
        let stays = try GRunLoop.SignalSource(signal) { _, count in heard.update { $0 += count } }
        try thread.loop.add(stays, forMode: .default)
        let makers = (0..<4).map { _ in
            startThread {
                for _ in 0..<300 {
                    let source = try? GRunLoop.SignalSource(signal) { source, _ in source.invalidate() }
                    if let source { try? thread.loop.add(source, forMode: .default) }
                    raiseHere(signal)
                    source?.invalidate()
                }
            }
        }
        for maker in makers { pthread_join(maker, nil) }
        #expect(heard.wait { $0 == 1200 }, "\(heard.value)")
        stays.invalidate()
        #expect(disposition(of: signal) == "default")
        thread.finish()
    }

    @Test("an actor's closure is called and released on that actor")
    func ofAnActor() throws {
        let signal = queuedSignal(12)
        let trace = Recorder()
        let worker = try GRunLoop.Thread(name: "actor's") { here in
            let model = OfAnActor(trace)
            let source = try? GRunLoop.SignalSource(signal, isolation: here) { source, count in
                model.trace("\(count)")
                source.invalidate()
            }
            if let source { try? here.loop.add(source, forMode: .default) }
        }
        sendToProcess(signal)
        #expect(trace.wait(forCount: 2))
        #expect(trace.lines == ["1", "let go"])
        worker.stop()
        worker.join()
    }

    @Test("descriptions and traces name the signal")
    func words() async throws {
        try await onFreshThread { loop in
            let signal = queuedSignal(13)
            let source = try GRunLoop.SignalSource(signal) { _, _ in }
            #expect(source.description.contains("<GRunLoop.SignalSource 0x"))
            #expect(source.description.contains("valid = Yes") && source.description.contains("signal = \(signal),"))
            try loop.add(source, forMode: .default)
            #expect(loop.description.contains("<GRunLoop.SignalSource 0x"))
            let trace = GRunLoop.Trace()
            loop.startTracing(trace)
            raiseHere(signal)
            loop.run(for: .zero)
            loop.stopTracing()
            #expect(trace.lines.contains { $0.hasSuffix("signal \(signal)") })
            source.invalidate()
            #expect(source.description.contains("valid = No"))
        }
    }
}

@Suite("Signals for await") struct SignalSequenceTests {
    @Test("each element has the signals since the last element, and the number of each")
    func elements() async throws {
        let signals = [queuedSignal(15), queuedSignal(16)]
        try await withWorker { loop in
            do {
                var iterator = loop.signals(Set(signals)).makeAsyncIterator()
                // The loop may take some signals before the last is raised, so only their sum is certain.
                var arrived: [Int32: Int] = [:]
                // Raises signals before the first await.
                raiseHere(signals[0], times: 3)
                while arrived != [signals[0]: 3] {
                    let more = try #require(try await iterator.next())
                    arrived.merge(more, uniquingKeysWith: +)
                    try #require(arrived[signals[0], default: 0] <= 3)
                }
                raiseHere(signals[0])
                raiseHere(signals[1], times: 2)
                while arrived != [signals[0]: 4, signals[1]: 2] {
                    let more = try #require(try await iterator.next())
                    arrived.merge(more, uniquingKeysWith: +)
                    try #require(arrived.values.reduce(0, +) <= 6)
                }
            }
            for signal in signals { #expect(disposition(of: signal) == "default") }
        }
    }

    @Test("cancelling ends the listening immediately, and so does the end of the loop")
    func ended() async throws {
        let signal = queuedSignal(17)
        let worker = try GRunLoop.Thread(name: "signals")
        let loop = worker.loop
        let task = Task { for try await _ in loop.signals([signal]) {} }
        while disposition(of: signal) == "default" { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(disposition(of: signal) == "default")
        let other = Task { for try await _ in loop.signals([signal]) {} }
        while disposition(of: signal) == "default" { await Task.yield() }
        worker.stop()
        await worker.waitUntilEnded()
        try await other.value
        #expect(disposition(of: signal) == "default")
        // A sequence that begins afterwards is empty, and changes nothing.
        for try await _ in loop.signals([signal]) { Issue.record("an element") }
        #expect(disposition(of: signal) == "default")
    }

    @Test("an unsuitable signal throws each time, and no other signal is listened to; the next try may succeed")
    func thrown() async throws {
        let (good, bad) = (queuedSignal(18), queuedSignal(19))
        Handlers.install(for: bad)
        try await withWorker { loop in
            var iterator = loop.signals([good, bad]).makeAsyncIterator()
            for _ in 0..<2 {
                do throws(GRunLoop.SystemError) {
                    _ = try await iterator.next()
                    Issue.record("no error")
                } catch {
                    #expect(error == .signalHandled(bad))
                }
                #expect(disposition(of: good) == "default")
            }
            signal(bad, SIG_DFL)
            let sender = startThread {
                _ = waitUntil { disposition(of: bad) != "default" }
                raiseHere(bad)
            }
            let next = try await iterator.next()
            #expect(next == [bad: 1])
            pthread_join(sender, nil)
        }
        #expect(disposition(of: good) == "default" && disposition(of: bad) == "default")
    }
}

/// Handlers of foreign code.
enum Handlers {
    static func install(for number: Int32) { signal(number) { _ in } }
}
