// SPDX-License-Identifier: Apache-2.0
// Item 138: the references to a timer, its closure and its captures; and deinits that call the loop.

import GRunLoop
import TestSupport
import Testing

@Suite("Timers: lifetime") struct TimersLifetimeTests {
    /// A timer whose closure holds a witness. The witness sets `gone`.
    private static func timer(
        at date: GRunLoop.Instant = GRunLoop.distantFuture, every interval: Duration = .zero, gone: Flag,
        _ body: @escaping @Sendable (GRunLoop.Timer) -> Void = { _ in }
    ) -> GRunLoop.Timer {
        let witness = Witness { gone.set() }
        return GRunLoop.Timer(fireAt: date, interval: interval) { timer in
            withExtendedLifetime(witness) { body(timer) }
        }
    }

    @Test("item 138: a closure is kept from the creation of its timer until its invalidation, in a loop or not")
    func untilInvalidation() async throws {
        try await onFreshThread { loop in
            let gone = Flag()
            let timer = Self.timer(every: .seconds(3600), gone: gone)
            loop.add(timer, forMode: .default)
            timer.fireDate = GRunLoop.now
            loop.run(for: .zero)
            loop.remove(timer, forMode: .default)
            #expect(!gone.isSet)
            timer.invalidate()
            #expect(gone.isSet)
            timer.invalidate()
        }
    }

    @Test("item 138: a closure that invalidates its timer is kept until it returns, and not longer")
    func insideItsOwnClosure() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let gone = Flag()
            let timer = Self.timer(at: GRunLoop.now, every: .seconds(1), gone: gone) { timer in
                timer.invalidate()
                record("in it: \(gone.isSet)")
                loop.perform { record("after it: \(gone.isSet)") }
            }
            loop.add(timer, forMode: .default)
            loop.run(for: .zero)
            #expect(record.lines == ["in it: false", "after it: true"])
        }
    }

    @Test("item 138: the closure of a one-shot timer is released right after its call")
    func oneShot() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let gone = Flag()
            let timer = Self.timer(at: GRunLoop.now, gone: gone) { _ in
                record("in it: \(gone.isSet)")
                loop.perform { record("after it: \(gone.isSet)") }
            }
            loop.add(timer, forMode: .default)
            loop.run(for: .zero)
            #expect(record.lines == ["in it: false", "after it: true"])
            withExtendedLifetime(timer) {}
        }
    }

    @Test("a loop keeps its timers; a timer that has left its last mode, or a one-shot that has fired, is released")
    func loopKeepsTimers() async throws {
        try await onFreshThread { loop in
            weak var fired: GRunLoop.Timer?
            weak var removed: GRunLoop.Timer?
            do {
                fired = loop.after(.zero) {}
                removed = loop.after(.seconds(1000)) {}
                loop.add(removed ?? GRunLoop.Timer(fireAt: GRunLoop.now) { _ in }, forMode: "M")
            }
            #expect(fired != nil)
            loop.run(for: .zero)
            #expect(fired == nil)
            if let timer = removed { loop.remove(timer, forMode: .default) }
            #expect(removed != nil)
            if let timer = removed { loop.remove(timer, forMode: "M") }
            #expect(removed == nil)
        }
    }

    @Test(
        "a deinit of a timer's closure may make any call on the loop: no lock is held", arguments: Ending.allCases)
    func reentrantDeinit(ending: Ending) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let bystander = loop.after(.seconds(1000)) {}
            loop.keepAlive()
            var timer: GRunLoop.Timer? = Self.witnessed(loop, bystander, record, ending)
            switch ending {
            case .invalidated: timer?.invalidate()
            case .firedOnce, .invalidatedInside: loop.run(for: .zero)
            case .removed:
                if let timer { loop.remove(timer, forMode: .default) }
                timer = nil
            case .commonRemoved:
                if let timer { loop.remove(timer, forMode: .common) }
                timer = nil
            }
            loop.run(for: .zero)
            #expect(record.lines.prefix(1) == ["deinit"])
            #expect(record.count(of: "deinit") == 1)
            #expect(record.count(of: "block") == 1)
            #expect(!bystander.isValid)
            withExtendedLifetime(timer) {}
        }
    }

    enum Ending: CaseIterable, Sendable {
        case invalidated, firedOnce, invalidatedInside, removed, commonRemoved
    }

    private static func witnessed(
        _ loop: GRunLoop, _ bystander: GRunLoop.Timer, _ record: Recorder, _ ending: Ending
    ) -> GRunLoop.Timer {
        let witness = Witness {
            record("deinit")
            bystander.invalidate()
            loop.perform { record("block") }
            loop.wakeUp()
            let source = loop.keepAlive("M")
            loop.run(mode: "M", for: .zero)
            source.invalidate()
            _ = loop.description
            try? loop.addCommonMode("M")
        }
        let date = ending == .firedOnce || ending == .invalidatedInside ? GRunLoop.now : GRunLoop.distantFuture
        let interval = ending == .invalidatedInside ? Duration.seconds(1) : .zero
        let timer = GRunLoop.Timer(fireAt: date, interval: interval) { timer in
            withExtendedLifetime(witness) {
                if ending == .invalidatedInside { timer.invalidate() }
            }
        }
        loop.add(timer, forMode: ending == .commonRemoved ? .common : .default)
        return timer
    }

    @Test("a loop that ends releases the closures of its timers, whose deinits may call it")
    func endOfLoop() async throws {
        try await onFreshThread { _ in
            let record = Recorder()
            let thread = LoopThread { loop in
                let witness = Witness {
                    record("deinit")
                    loop.perform { record("block") }
                    loop.wakeUp()
                    loop.keepAlive()
                    record("modes \(loop.allModes.count)")
                }
                let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in withExtendedLifetime(witness) {} }
                loop.add(timer, forMode: .common)
            }
            thread.join()
            #expect(record.lines == ["deinit", "modes 1"])
        }
    }
}
