// SPDX-License-Identifier: Apache-2.0
// Items 145 to 147, 152, 153: which observers are called, when and in which order.

import GRunLoop
import TestSupport
import Testing

@Suite("Observers") struct ObserversTests {
    private static let stages: [GRunLoop.Activity] = [
        .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
    ]

    @Test("item 145: at every stage observers are called in ascending order, equal orders in the order of addition")
    func order() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let orders = [5, 0, -3, 5, Int.max, 0, Int.min, 5, -3, 0]
            for (index, order) in orders.enumerated() {
                record.observe(loop, .default, .all, order: order, prefix: "\(index) ")
            }
            loop.after(.milliseconds(1)) {}
            #expect(loop.run(for: .seconds(20)) == .finished)
            let sequence = [6, 2, 8, 1, 5, 9, 0, 3, 7, 4]
            let expected = Self.stages.map { stage in sequence.map { "\($0) \(stage)" } }
            #expect(record.lines == expected.flatMap { $0 })
        }
    }

    @Test("item 145: the order counts in each mode, and an observer that is added again is the last of its order")
    func orderAfterReadding() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let observers = (0..<3).map { index in loop.on(.entry) { _ in record("\(index)") } }
            for observer in observers.reversed() { loop.add(observer, forMode: "M") }
            loop.remove(observers[0], forMode: .default)
            loop.add(observers[0], forMode: .default)
            for mode in [.default, "M"] as [GRunLoop.Mode] {
                loop.keepAlive(mode)
                loop.run(mode: mode, for: .zero)
            }
            #expect(record.lines == ["1", "2", "0"] + ["2", "1", "0"])
        }
    }

    @Test("item 146: an observer is called for the stages of its mask and no others")
    func masks() async throws {
        try await onFreshThread { loop in
            let all = Recorder()
            all.observe(loop)
            let single = Self.stages.map { stage in
                let record = Recorder()
                record.observe(loop, .default, stage)
                return (stage, record)
            }
            let pair = Recorder()
            pair.observe(loop, .default, [.beforeSources, .exit])
            let none = Recorder()
            none.observe(loop, .default, [])
            loop.after(.milliseconds(1)) {}
            loop.after(.milliseconds(2)) {}
            #expect(loop.run(for: .seconds(20)) == .finished)
            // The run makes one pass or two: the second timer may become due together with the first.
            #expect(all.lines.first == "entry")
            #expect(all.lines.last == "exit")
            #expect(Set(all.lines) == Set(Self.stages.map(\.description)))
            for (stage, record) in single { #expect(record.lines == all.lines.filter { $0 == stage.description }) }
            #expect(pair.lines == all.lines.filter { $0 == "beforeSources" || $0 == "exit" })
            #expect(none.lines.isEmpty)
        }
    }

    @Test("item 146: the raw values are Core Foundation's")
    func rawValues() {
        #expect(Self.stages.map(\.rawValue) == [1, 2, 4, 32, 64, 128])
        #expect(GRunLoop.Activity.all.rawValue == 0x0FFF_FFFF)
    }

    @Test("item 147: a one-shot observer is called once, while it is valid, and leaves all modes right after")
    func once() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            try loop.addCommonMode("M")
            let state = { @Sendable (observer: GRunLoop.Observer) in
                let modes: [GRunLoop.Mode] = [.default, .common, "M", "N"].filter {
                    loop.contains(observer, forMode: $0)
                }
                record("\(observer.isValid) \(modes.count)")
            }
            let once = GRunLoop.Observer(activities: [.beforeTimers, .beforeSources, .exit], repeats: false) {
                observer, activity in
                record("\(activity)")
                state(observer)
            }
            loop.add(once, forMode: .common)
            loop.add(once, forMode: "N")
            // The next observer of the same stage sees the state after the call.
            loop.on(.beforeTimers, order: 1) { _ in state(once) }
            loop.keepAlive()
            loop.keepAlive("N")
            loop.run(for: .zero)
            #expect(record.take() == ["beforeTimers", "true 4", "false 0"])
            loop.run(mode: "N", for: .zero)
            #expect(record.lines.isEmpty)
        }
    }

    @Test("item 147: an observer that does not repeat is not called again in a nested run, nor after it")
    func onceNested() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let once = GRunLoop.Observer(activities: .all, repeats: false) { _, activity in
                record("once \(activity)")
                loop.run(for: .zero)
            }
            let first = loop.on(.entry, order: -1, repeats: false) { _ in
                record("first")
                // The nested run calls `once` before the outer notification reaches it.
                loop.run(for: .zero)
            }
            loop.add(once, forMode: .default)
            loop.run(for: .zero)
            #expect(record.lines == ["first", "once entry"])
            #expect(!first.isValid)
            #expect(!once.isValid)
        }
    }

    @Test("item 152: another loop refuses an observer, with a message, until it is in no mode of its first loop")
    func twoLoops() async throws {
        try await onFreshThread { loop in
            let thread = LoopThread.running()
            let other = thread.loop
            let called = Flag()
            let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in called.set() }
            let modes: [GRunLoop.Mode] = [.default, "M", "N"]
            for mode in modes { loop.add(observer, forMode: mode) }
            for mode in modes { #expect(loop.contains(observer, forMode: mode)) }
            for mode in modes {
                let messages = capturingLog {
                    other.add(observer, forMode: .default)
                    other.add(observer, forMode: .common)
                }.messages
                #expect(messages.count == 2)
                for message in messages {
                    #expect(message.contains("critical") && message.contains("another run loop"))
                }
                #expect(!other.contains(observer, forMode: .default))
                #expect(!other.contains(observer, forMode: .common))
                loop.remove(observer, forMode: mode)
            }
            #expect(capturingLog { other.add(observer, forMode: .default) }.messages.isEmpty)
            #expect(other.contains(observer, forMode: .default))
            other.wakeUp()
            #expect(called.wait())
            thread.finish()
        }
    }

    @Test("item 153: an observer that is added twice to a mode is called once for a stage, and one removal removes it")
    func addedTwice() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let observer = record.observe(loop, .default, [.beforeTimers, .exit])
            loop.add(observer, forMode: .default)
            loop.run(for: .zero)
            #expect(record.take() == ["beforeTimers", "exit"])
            loop.remove(observer, forMode: .default)
            #expect(!loop.contains(observer, forMode: .default))
            loop.run(for: .zero)
            #expect(record.lines.isEmpty)
        }
    }

    @Test("an invalid observer is refused, and an invalidated one leaves every mode")
    func invalid() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let modes: [GRunLoop.Mode] = [.default, "M", .common]
            let observer = record.observe(loop, "M")
            loop.add(observer, forMode: .common)
            for mode in modes { #expect(loop.contains(observer, forMode: mode)) }
            observer.invalidate()
            #expect(!observer.isValid)
            for mode in modes {
                #expect(!loop.contains(observer, forMode: mode))
                loop.add(observer, forMode: mode)
                #expect(!loop.contains(observer, forMode: mode))
            }
            loop.run(for: .zero)
            #expect(record.lines.isEmpty)
        }
    }
}
