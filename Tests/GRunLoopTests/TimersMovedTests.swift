// SPDX-License-Identifier: Apache-2.0
// Timers whose closures move them to other loops. Those loops may end before the closures return.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Timers: moved by their closures") struct TimersMovedTests {
    /// Moves the timer, in its closure, from its loop to a loop that has ended when this function returns.
    private static func move(_ timer: GRunLoop.Timer, from loop: GRunLoop, toModes names: [GRunLoop.Mode]) {
        loop.remove(timer, forMode: .default)
        GRunLoop.withVirtualTime { time in
            for name in names { time.loop.add(timer, forMode: name) }
            for name in names { #expect(time.loop.contains(timer, forMode: name)) }
        }
    }

    @Test(
        "item 8: the end of a loop also affects a timer that its closure has added there, and that still fires",
        arguments: [[.default], [.common], ["M", "N"]] as [[GRunLoop.Mode]])
    func loopEnds(names: [GRunLoop.Mode]) async throws {
        try await onFreshThread { loop in
            let fires = Counter()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
                guard fires.increment() == 1 else { return timer.invalidate() }
                Self.move(timer, from: loop, toModes: names)
                // The timer is in no loop any more, and joins this loop again.
                loop.add(timer, forMode: .default)
                #expect(loop.contains(timer, forMode: .default))
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            #expect(fires.value == 2)
        }
    }

    @Test("item 8: a timer that stays behind in a loop that ends is in no loop when its closure returns")
    func staysBehind() async throws {
        try await onFreshThread { loop in
            let fires = Counter()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
                guard fires.increment() == 1 else { return timer.invalidate() }
                Self.move(timer, from: loop, toModes: [.default])
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            #expect(timer.isValid && fires.value == 1)
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            #expect(fires.value == 2)
        }
    }

    @Test("a timer of a loop that has ended does not touch the next loop, which has the same lock")
    func lockIsUsedAgain() async throws {
        try await onFreshThread { loop in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
                Self.move(timer, from: loop, toModes: [.default])
                GRunLoop.withVirtualTime { time in
                    #expect(!time.loop.contains(timer, forMode: .default))
                    time.loop.keepAlive()
                    timer.invalidate()
                    #expect(!timer.isValid)
                    #expect(time.loop.run(mode: .default, for: .milliseconds(1)) == .timedOut)
                }
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        }
    }

    @Test("a one-shot timer is invalid after a closure that has moved it to a loop that ends")
    func firesOnce() async throws {
        try await onFreshThread { loop in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { timer in
                Self.move(timer, from: loop, toModes: [.default])
                #expect(timer.isValid)
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            #expect(!timer.isValid)
        }
    }

    @Test("items 8, 119: a timer continues in a third loop if the thread it was moved to ends and releases its loop")
    func threadEnds() async throws {
        try await onFreshThread { loop in
            let second = Shared<GRunLoop.Thread?>(try GRunLoop.Thread(name: "second"))
            let seen = Weak<GRunLoop>(second.value?.loop)
            let log = FireLog()
            let (first, interval) = (soon(), Duration.milliseconds(10))
            let timer = log.timer(loop, first: first, every: interval) { number, timer in
                guard number == 1 else { return timer.invalidate() }
                loop.remove(timer, forMode: .default)
                second.value?.loop.add(timer, forMode: .default)
                second.value?.stop()
                second.value?.join()
                second.value = nil
                #expect(waitUntil { seen.object == nil })
                #expect(timer.isValid)
            }
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            let third = LoopThread.running()
            third.loop.add(timer, forMode: .default)
            #expect(waitUntil { !timer.isValid })
            third.finish()
            #expect(log.fires.count == 2)
            for date in log.dates.dropFirst() { #expect(date.isOnGrid(from: first, interval)) }
        }
    }

    @Test("item 142: a timer whose closure has moved it counts in its new loop, and not in the old one")
    func nextDate() async throws {
        try await onFreshThread { loop in
            let other = LoopThread.running("M")
            let date = soon()
            let later = GRunLoop.Timer(fireAt: date.advanced(by: .seconds(1000))) { _ in }
            other.loop.add(later, forMode: .default)
            let timer = GRunLoop.Timer(fireAt: date, interval: .seconds(1)) { timer in
                loop.remove(timer, forMode: .default)
                #expect(loop.nextFireDate(forMode: .default) == nil)
                other.loop.add(timer, forMode: .default)
                #expect(other.loop.nextFireDate(forMode: .default) == date)
                #expect(other.loop.description.occurrences(of: "firing = Yes") == 1)
                other.loop.remove(timer, forMode: .default)
                #expect(other.loop.nextFireDate(forMode: .default) == later.fireDate)
                loop.add(timer, forMode: .default)
                #expect(loop.nextFireDate(forMode: .default) == date)
                #expect(loop.description.occurrences(of: "firing = Yes") == 1)
                // Sets another date and tolerance while the timer fires there.
                timer.tolerance = .milliseconds(1)
                timer.fireDate = date.advanced(by: .seconds(500))
            }
            loop.add(timer, forMode: .default)
            stayBusy(until: date)
            loop.run(mode: .default, for: .zero)
            #expect(loop.nextFireDate(forMode: .default) == date.advanced(by: .seconds(500)))
            timer.invalidate()
            #expect(loop.nextFireDate(forMode: .default) == nil)
            other.finish()
        }
    }
}

extension String {
    /// The number of occurrences of a text.
    fileprivate func occurrences(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
