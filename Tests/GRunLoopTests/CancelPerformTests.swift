// SPDX-License-Identifier: Apache-2.0
// A delayed perform can be cancelled by its token, target or key, in whatever state it is.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite struct CancelPerformTests {
    @Test("a perform can be cancelled once, before it is called, and not from inside its closure")
    func once() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let first = loop.perform(after: .zero) { trace("first") }
            let second = loop.perform(after: .zero) { trace("second") }
            #expect(first != second && first == first)
            #expect(first.cancel())
            #expect(!first.cancel())
            // The third perform reuses the slot of the first one.
            let third = loop.perform(after: .zero) { trace("third") }
            #expect(!first.cancel())
            loop.run(for: .zero)
            #expect(trace.take() == ["second", "third"])
            for each in [first, second, third] { #expect(!each.cancel()) }

            let inside = Shared<GRunLoop.DelayedPerform?>(nil)
            inside.value = loop.perform(after: .zero) {
                let wasThere = inside.value.map { $0.cancel() }
                trace("\(String(describing: wasThere))")
            }
            loop.run(for: .zero)
            #expect(trace.take() == ["Optional(false)"])
            #expect(loop.run(for: .zero) == .finished)
        }
    }

    @Test("the token of a loop that has ended cancels nothing, and does not retain the loop")
    func endedLoop() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let others = Shared<[GRunLoop.DelayedPerform]>([])
            let ended = Weak<GRunLoop>()
            LoopThread { other in
                ended.object = other
                let modes: [[GRunLoop.Mode]] = [[.default], ["one"], [.common], ["one", "two"]]
                others.value = (0..<20).map { other.perform(after: .seconds(60), inModes: modes[$0 % 4]) {} }
            }.join()
            #expect(waitUntil { ended.object == nil })
            let own = (0..<20).map { number in loop.perform(after: .zero) { trace("\(number)") } }
            for other in others.value {
                #expect(!own.contains(other))
                #expect(!other.cancel())
            }
            loop.run(for: .zero)
            #expect(trace.take() == (0..<20).map { "\($0)" })
        }
    }

    @Test("a token cancels once, on any thread, also in a deinit; the target is released then")
    func anyThread() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let target = Shared<Witness?>(Witness { trace("target released") })
            let performs = Shared<[GRunLoop.DelayedPerform]>([])
            performs.value = [
                loop.perform(after: .zero) { trace("performed") },
                loop.perform(after: .zero, inModes: ["one", .default]) { trace("performed") },
                loop.perform(after: .zero, target: target.value) { trace("performed") },
            ]
            target.value = nil
            onPlainThread {
                for each in performs.value { #expect(each.cancel()) }
                for each in performs.value { #expect(!each.cancel()) }
            }
            #expect(loop.run(for: .zero) != .handledSource)
            #expect(trace.take() == ["target released"])
            loop.cancelPerforms(target: performs)
            #expect(loop.run(for: .zero) == .finished)
        }
    }

    @Test(
        "beside a call of the closure on the loop's thread, cancel() is true if and only if the closure is not called",
        arguments: [[.default], [.default, "one"], [.common]] as [[GRunLoop.Mode]])
    func besideTheCall(modes: [GRunLoop.Mode]) async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("second")
            let next = Shared<GRunLoop.DelayedPerform?>(nil)
            let count = 5000
            let turn = Atomic(0)
            let (called, cancelled) = (Counter(), Counter())
            let thread = startThread {
                for number in 1...count {
                    while turn.load(ordering: .acquiring) < number { sched_yield() }
                    if next.value?.cancel() == true { cancelled.increment() }
                }
            }
            for number in 1...count {
                next.value = loop.perform(after: .zero, inModes: modes) { called.increment() }
                turn.store(number, ordering: .releasing)
                while loop.run(for: .zero) != .finished {}
            }
            join(thread)
            #expect(called.value + cancelled.value == count)
        }
    }

    @Test("what is cancelled on another thread is released in whatever mode the loop runs next")
    func releasedInPrivateMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let performs = {
                let own = loop.isolation.assumeIsolated { here in
                    let own = OfAnActor(trace)
                    return loop.perform(after: .seconds(60), inModes: ["one"], isolation: here) { own.trace("called") }
                }
                let target = Witness { trace("target released") }
                return [own, loop.perform(after: .seconds(60), inModes: ["one"], target: target) {}]
            }()
            onPlainThread { for each in performs { #expect(each.cancel()) } }
            #expect(trace.lines == [])
            loop.run(mode: "one", for: .zero)
            #expect(trace.take() == ["let go", "target released"])
        }
    }

    @Test("in virtual time, the token of the hidden loop still cancels, in each of the loop's modes")
    func hiddenLoop() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let performs = ([.default, "one"] as [GRunLoop.Mode]).map { mode in
                loop.perform(after: .zero, inModes: [mode]) { trace("performed") }
            }
            GRunLoop.withVirtualTime { time in
                let own = time.loop.perform(after: .zero, inModes: ["one"]) { trace("performed") }
                for each in performs + [own] { #expect(each.cancel() && !each.cancel()) }
            }
            #expect(loop.run(for: .zero) == .finished && loop.run(mode: "one", for: .zero) == .finished)
            #expect(trace.lines == [])
        }
    }

    /// Keys that all have the same hash.
    private struct Key: Hashable {
        let number: Int
        func hash(into hasher: inout Hasher) { hasher.combine(0) }
    }

    @Test("item 227: a key cancels the performs that have an equal key, and not those that only have the same hash")
    func keysOfOneHash() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (target, other) = (Witness {}, Witness {})
            for number in 0..<3 {
                loop.perform(after: .zero, target: target, key: Key(number: number)) { trace("\(number)") }
                loop.perform(order: 0, inModes: [.default], target: target, key: Key(number: number)) {
                    trace("ordered \(number)")
                }
            }
            loop.perform(after: .zero, target: other, key: Key(number: 1)) { trace("other") }
            loop.cancelPerforms(target: target, key: Key(number: 1))
            loop.run(for: .zero)
            #expect(trace.take() == ["ordered 0", "ordered 2", "0", "2", "other"])
        }
    }

    @Test("item 227: each key cancels its own performs among many of one target, in the order of addition")
    func manyOfOneTarget() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let target = Witness {}
            for number in 0..<100 {
                let captured = Witness { trace("\(number)") }
                loop.perform(after: .seconds(60), target: target, key: number % 50) {
                    withExtendedLifetime(captured) {}
                }
            }
            for key in (0..<50).reversed() where key % 10 != 0 {
                loop.cancelPerforms(target: target, key: key)
                #expect(trace.take() == ["\(key)", "\(key + 50)"])
            }
            loop.cancelPerforms(target: target)
            #expect(trace.take() == stride(from: 0, to: 100, by: 10).map { "\($0)" })
        }
    }

    @Test("cancelling releases the target and the captures immediately; cancelling by target leaves no name")
    func target() async throws {
        try await onFreshThread { loop in
            let seen = Weak<Witness>()
            let trace = Recorder()
            func perform() -> GRunLoop.DelayedPerform {
                let target = Witness { trace("target") }
                seen.object = target
                let captured = Witness { trace("captured") }
                return loop.perform(after: .zero, target: target, key: 1) { withExtendedLifetime(captured) {} }
            }
            let first = perform()
            #expect(trace.lines == [])
            #expect(first.cancel())
            #expect(trace.take().sorted() == ["captured", "target"])
            let second = perform()
            if let target = seen.object { loop.cancelPerforms(target: target) }
            #expect(trace.take().sorted() == ["captured", "target"])
            #expect(!second.cancel())
            _ = perform()
            loop.run(for: .zero)
            #expect(trace.take().sorted() == ["captured", "target"])
        }
    }

    @Test(
        "a perform that is in several modes is removed from all of them",
        arguments: [["one", "two"], [.common], [.common, "one"]] as [[GRunLoop.Mode]])
    func severalModes(names: [GRunLoop.Mode]) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let modes: [GRunLoop.Mode] = [.default, "one", "two", "three"]
            try? loop.addCommonMode("three")
            for isCancelled in [true, false] {
                let perform = loop.perform(after: .zero, inModes: names) { trace("performed") }
                if isCancelled {
                    #expect(perform.cancel())
                    #expect(modes.allSatisfy { loop.nextFireDate(forMode: $0) == nil })
                }
                for mode in modes + modes { loop.run(mode: mode, for: .zero) }
                #expect(trace.take() == (isCancelled ? [] : ["performed"]))
                #expect(!perform.cancel())
                #expect(modes.allSatisfy { loop.run(mode: $0, for: .zero) == .finished })
            }
        }
    }

    @Test("a common perform joins a mode that becomes common later, in its order, and is called once")
    func laterCommonMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let target = Witness {}
            var performs: [GRunLoop.DelayedPerform] = []
            for name in ["first", "second", "third", "fourth"] {
                performs.append(loop.perform(after: .zero, inModes: [.common], target: target) { trace(name) })
            }
            loop.perform(after: .zero) { trace("default only") }
            try? loop.addCommonMode("late")
            #expect(loop.nextFireDate(forMode: "late") != nil)
            #expect(performs[1].cancel())
            #expect(!performs[1].cancel())
            loop.run(mode: "late", for: .zero)
            #expect(trace.take() == ["first", "third", "fourth"])
            for each in performs { #expect(!each.cancel()) }
            loop.run(for: .zero)
            #expect(trace.take() == ["default only"])
            #expect(loop.run(mode: "late", for: .zero) == .finished && loop.run(for: .zero) == .finished)
            // Cancels by target after the perform has joined two modes.
            loop.perform(after: .zero, inModes: [.common], target: target) { trace("cancelled") }
            loop.cancelPerforms(target: target)
            #expect(loop.run(mode: "late", for: .zero) == .finished && loop.run(for: .zero) == .finished)
            #expect(trace.lines == [])
        }
    }

    @Test("one of several due performs cancels another, and a nested run calls the rest once")
    func insideBatch() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let performs = Shared<[GRunLoop.DelayedPerform]>([])
            performs.value = (0..<8).map { number in
                loop.perform(after: .zero) {
                    trace("\(number)")
                    if number == 1 {
                        performs.value[2].cancel()
                        // The new perform is called in the next pass.
                        loop.perform(after: .zero) { trace("later") }
                    }
                    if number == 3 {
                        try? loop.addCommonMode("another")
                        loop.run(for: .zero)
                        trace("end of 3")
                    }
                    if number == 5 { performs.value[7].cancel() }
                }
            }
            while loop.run(for: .zero) != .finished {}
            #expect(trace.lines == ["0", "1", "3", "4", "5", "6", "later", "end of 3"])
        }
    }

    @Test("a mode is not finished while its last perform runs, and is finished afterwards")
    func keepsMode() async throws {
        try await onFreshThread { loop in
            for names: [GRunLoop.Mode] in [[.default], [.default, "two"]] {
                let result = Shared<GRunLoop.RunResult?>(nil)
                loop.perform(after: .zero, inModes: names) {
                    result.value = loop.run(mode: .default, for: .milliseconds(1))
                }
                #expect(loop.run(for: .seconds(60)) == .finished)
                #expect(result.value == .timedOut)
            }
        }
    }

    @Test("timers and performs of one date keep their order, even if the last one is a day away")
    func withTimers() {
        GRunLoop.withVirtualTime { time in
            let trace = Recorder()
            let loop = time.loop
            for number in 0..<10 {
                if number % 3 == 0 {
                    loop.add(
                        GRunLoop.Timer(interval: .seconds(5), repeats: false) { _ in trace("\(number)") },
                        forMode: .default)
                } else {
                    loop.perform(after: .seconds(5)) { trace("\(number)") }
                }
            }
            loop.perform(after: .seconds(86_400)) { trace("a day") }
            time.advance(by: .seconds(5))
            #expect(trace.take() == (0..<10).map { "\($0)" })
            #expect(time.advanceToNextTimer())
            #expect(trace.take() == ["a day"])
        }
    }

    @Test("descriptions and traces of a loop show its performs")
    func seen() async throws {
        try await onFreshThread { loop in
            loop.perform(after: .seconds(60)) {}
            #expect(loop.description.contains("<delayed perform>{firing = No, next fire date = 5"))
            let trace = GRunLoop.Trace()
            loop.startTracing(trace)
            loop.perform(after: .zero) {}
            loop.run(for: .zero)
            loop.stopTracing()
            let callouts = trace.events.compactMap { event in
                if case .callout(let callout, _) = event.kind { callout.description } else { nil }
            }
            #expect(callouts == ["delayed perform"])
        }
    }

    @Test("timers and performs of one date keep their order in a mode that becomes common later")
    func laterOrder() throws {
        try GRunLoop.withVirtualTime { time in
            let trace = Recorder()
            let loop = time.loop
            func timer(_ name: String) {
                loop.add(
                    GRunLoop.Timer(interval: .seconds(5), repeats: false) { _ in trace(name) }, forMode: .common)
            }
            loop.perform(after: .seconds(5), inModes: [.common]) { trace("1") }
            timer("2")
            loop.perform(after: .seconds(5), inModes: [.common]) { trace("3") }
            timer("4")
            loop.perform(after: .seconds(4), inModes: [.common]) { trace("0") }
            try loop.addCommonMode("late")
            time.advance(by: .seconds(5), mode: "late")
            #expect(trace.lines == ["0", "1", "2", "3", "4"])
        }
    }

    @Test("a running perform stays in its modes, also in a mode that becomes common meanwhile", arguments: [1, 2])
    func whileItRuns(commonModes: Int) throws {
        try GRunLoop.withVirtualTime { time in
            let loop = time.loop
            if commonModes == 2 { try loop.addCommonMode("second") }
            let trace = Recorder()
            let date = time.now + .seconds(1)
            loop.perform(after: .seconds(1), inModes: [.common]) {
                trace("\(loop.nextFireDate(forMode: .default) == date)")
                try? loop.addCommonMode("late")
                trace("\(loop.nextFireDate(forMode: "late") == date)")
                trace("\(loop.run(mode: "late", for: .seconds(1)))")
                trace("\(loop.description.contains("<delayed perform>{firing = Yes"))")
            }
            time.advance(by: .seconds(1))
            #expect(trace.lines == ["true", "true", "timedOut", "true"])
            #expect(loop.run(mode: "late", for: .zero) == .finished && loop.run(for: .zero) == .finished)
            #expect(loop.nextFireDate(forMode: "late") == nil && !loop.description.contains("perform"))
        }
    }

    @Test("a perform is released before the next one is called")
    func keptNoLonger() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            func add() {
                let witness = Witness { trace("timer released") }
                loop.add(
                    GRunLoop.Timer(fireAt: .now, interval: .seconds(60)) { timer in
                        withExtendedLifetime(witness) { trace("timer") }
                        loop.remove(timer, forMode: .default)
                    }, forMode: .default)
            }
            add()
            loop.perform(after: .zero) { trace("perform") }
            loop.run(for: .zero)
            #expect(trace.lines == ["timer", "timer released", "perform"])
        }
    }

    @Test("a cancelled sleep leaves the loop before its task resumes")
    func cancelledSleep() async throws {
        try await onFreshThread { loop in
            // The task runs on this loop: it waits when a run has returned, and resumes only in another run.
            let task = Task(executorPreference: loop.executor) {
                try await loop.sleep(for: .seconds(60), inModes: [.default])
            }
            #expect(
                waitUntil {
                    loop.run(for: .zero)
                    return loop.nextFireDate(forMode: .default) != nil
                })
            task.cancel()
            #expect(loop.nextFireDate(forMode: .default) == nil)
        }
    }
}
