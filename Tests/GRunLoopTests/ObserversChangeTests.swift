// SPDX-License-Identifier: Apache-2.0
// Items 148 to 151, 154, 155: observers are added and removed, and runs nest, while a stage is being notified.

import GRunLoop
import TestSupport
import Testing

@Suite("Observers: changes in a notification") struct ObserversChangeTests {
    private static let stages: [GRunLoop.Activity] = [
        .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
    ]

    @Test("item 148: an observer is not called in a run that is nested in its own closure; other observers are")
    func nested() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive("M")
            let observer = loop.on(.all, order: 0, repeats: true) { _ in
                record("outer")
                // Runs with a zero limit. The outer run's deadline would wake a sleeping run at any of these calls.
                loop.run(mode: "M", for: .zero)
            }
            loop.add(observer, forMode: "M")
            record.observe(loop, "M", order: 1)
            loop.keepAlive()
            // The run has every stage: six calls of the observer, not nested in each other.
            loop.run(for: .milliseconds(1))
            let inner = Self.stages.filter { $0 != .beforeWaiting && $0 != .afterWaiting }.map(\.description)
            let calls = record.count(of: "outer")
            #expect(calls >= 6)
            let expected = (0..<calls).flatMap { _ in ["outer"] + inner }
            #expect(record.lines == expected)
        }
    }

    @Test("item 149: an observer that is removed during a notification is still called for it, and not again")
    func removed() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let removed = record.observe(loop, .default, [.beforeTimers, .beforeSources], order: 1, prefix: "B ")
            loop.on(.beforeTimers, order: 0) { _ in
                record("Z")
                loop.remove(removed, forMode: .default)
                record("\(loop.contains(removed, forMode: .default))")
            }
            loop.run(for: .zero)
            #expect(record.take() == ["Z", "false", "B beforeTimers"])
            loop.run(for: .zero)
            #expect(record.lines == ["Z", "false"])
        }
    }

    @Test("item 150: an observer that is invalidated during a notification is not called for it")
    func invalidated() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let invalidated = record.observe(loop, .default, .all, order: 1, prefix: "C ")
            loop.on(.entry, order: 0) { _ in
                record("Z")
                invalidated.invalidate()
            }
            record.observe(loop, .default, .entry, order: 2, prefix: "D ")
            loop.run(for: .zero)
            #expect(record.lines == ["Z", "D entry"])
        }
    }

    @Test(
        "item 151: an observer that is added during a notification is called from the next stage on, whatever its order"
    )
    func added() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.on(.beforeTimers, order: 0, repeats: false) { _ in
                record("Z")
                record.observe(loop, .default, [.beforeTimers, .beforeSources], order: -1, prefix: "before ")
                record.observe(loop, .default, [.beforeTimers, .beforeSources], order: 1, prefix: "after ")
            }
            // The stage has another observer behind Z, so that the notification continues.
            record.observe(loop, .default, .beforeTimers, order: 2)
            loop.run(for: .zero)
            #expect(record.take() == ["Z", "beforeTimers", "before beforeSources", "after beforeSources"])
            loop.run(for: .zero)
            #expect(record.lines.prefix(2) == ["before beforeTimers", "after beforeTimers"])
        }
    }

    @Test("item 154: a closure is released once, at the invalidation of its observer and not before")
    func released() async throws {
        try await onFreshThread { loop in
            let gone = Counter()
            let observer = Self.observer(repeats: true, gone)
            loop.keepAlive()
            loop.add(observer, forMode: .default)
            loop.run(for: .zero)
            loop.remove(observer, forMode: .default)
            #expect(gone.value == 0)
            loop.add(observer, forMode: .default)
            observer.invalidate()
            #expect(gone.value == 1)
            observer.invalidate()
            #expect(gone.value == 1)
            // An observer that does not repeat is invalidated by its call.
            let once = Self.observer(repeats: false, gone)
            loop.add(once, forMode: .default)
            loop.on(.entry, order: 1) { _ in #expect(gone.value == 2) }
            loop.run(for: .zero)
            #expect(gone.value == 2)
            withExtendedLifetime((observer, once)) {}
        }
    }

    private static func observer(
        repeats: Bool, _ gone: Counter, _ body: @escaping @Sendable (GRunLoop.Observer) -> Void = { _ in }
    ) -> GRunLoop.Observer {
        let witness = Witness { gone.increment() }
        return GRunLoop.Observer(activities: .entry, repeats: repeats) { observer, _ in
            withExtendedLifetime(witness) { body(observer) }
        }
    }

    private struct Weak: @unchecked Sendable {
        weak var observer: GRunLoop.Observer?
    }

    @Test("item 154: an observer that has left the loop is released in the next pass, also in a run that never sleeps")
    func releasedWithoutASleep() async throws {
        try await onFreshThread { loop in
            let left = Shared(Weak())
            let passes = Counter()
            loop.keepAlive()
            do {
                let once = GRunLoop.Observer(activities: .beforeTimers, repeats: false) { _, _ in }
                left.value.observer = once
                loop.add(once, forMode: .default)
            }
            loop.on(.beforeWaiting) { _ in
                loop.wakeUp()
                if passes.increment() == 3 { loop.stop() }
            }
            loop.on(.beforeTimers, order: 1) { _ in
                if passes.value > 1 { #expect(left.value.observer == nil) }
            }
            loop.run()
            #expect(passes.value == 3)
        }
    }

    @Test("item 154: a closure that invalidates its observer is kept until it returns")
    func invalidatesItself() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let gone = Counter()
            loop.keepAlive()
            let observer = Self.observer(repeats: true, gone) { observer in
                observer.invalidate()
                record("in it: \(gone.value)")
            }
            loop.add(observer, forMode: .default)
            loop.on(.entry, order: 1) { _ in record("after it: \(gone.value)") }
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(record.lines == ["in it: 0", "after it: 1", "after it: 1"])
        }
    }

    @Test(
        "a deinit of an observer's closure may make any call on the loop: no lock is held",
        arguments: [true, false])
    func reentrantDeinit(isCommon: Bool) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let bystander = record.observe(loop, .default, [])
            loop.keepAlive()
            func make() -> GRunLoop.Observer {
                let witness = Witness {
                    record("deinit")
                    bystander.invalidate()
                    loop.perform { record("block") }
                    loop.wakeUp()
                    _ = loop.description
                    loop.run(mode: "M", for: .zero)
                    loop.keepAlive("M")
                }
                let observer = GRunLoop.Observer(activities: .entry) { _, _ in withExtendedLifetime(witness) {} }
                loop.add(observer, forMode: isCommon ? .common : .default)
                return observer
            }
            weak var weakObserver: GRunLoop.Observer?
            // Tries two ends: invalidation in a callout, and a removal after which no reference is left.
            let invalidated = make()
            loop.on(.entry, order: -1, repeats: false) { _ in invalidated.invalidate() }
            loop.run(for: .zero)
            #expect(record.take() == ["deinit", "block"])
            do {
                let removed = make()
                weakObserver = removed
                loop.remove(removed, forMode: isCommon ? .common : .default)
            }
            #expect(weakObserver == nil)
            #expect(record.take() == ["deinit"])
            #expect(!bystander.isValid)
        }
    }

    @Test("item 155: a nested run in an entry or exit observer ends before the other observers are called")
    func nestedInEntryAndExit() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.keepAlive("M")
            record.observe(loop, "M", [.entry, .exit], prefix: "nested ")
            record.observe(loop, .default, [.entry, .exit], order: 1, prefix: "after ")
            loop.on([.entry, .exit], order: 0) { _ in
                loop.run(mode: "M", for: .zero)
            }
            loop.run(for: .zero)
            let expected = ["entry", "exit"].flatMap { ["nested entry", "nested exit", "after \($0)"] }
            #expect(record.lines == expected)
        }
    }
}
