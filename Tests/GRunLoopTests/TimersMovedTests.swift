// SPDX-License-Identifier: Apache-2.0
// Timers whose closures move them to other loops, which may end before the closures return.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Timers: moved by their closures") struct TimersMovedTests {
    /// Moves the timer, in its closure, from its loop to one that has ended when this returns.
    private static func move(_ timer: GRunLoop.Timer, from loop: GRunLoop, toModes names: [GRunLoop.Mode]) {
        loop.remove(timer, forMode: .default)
        GRunLoop.withVirtualTime { time in
            for name in names { time.loop.add(timer, forMode: name) }
            for name in names { #expect(time.loop.contains(timer, forMode: name)) }
        }
    }

    @Test(
        "item 8: the end of a loop finds a timer that its closure has added there, and is still running",
        arguments: [[.default], [.common], ["M", "N"]] as [[GRunLoop.Mode]])
    func loopEnds(names: [GRunLoop.Mode]) async throws {
        try await onFreshThread { loop in
            let fires = Counter()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
                guard fires.increment() == 1 else { return timer.invalidate() }
                Self.move(timer, from: loop, toModes: names)
                // It is in no loop any more, and comes back.
                loop.add(timer, forMode: .default)
                #expect(loop.contains(timer, forMode: .default))
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
            #expect(fires.value == 2)
        }
    }

    @Test("item 8: a timer that stays behind in a loop that ends is in none when its closure returns")
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

    @Test("a timer that was in a loop that has ended does not touch the next loop, which has the same lock")
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

    @Test("a timer that fires once is invalid after a closure that has moved it to a loop that ends")
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

    @Test("items 8, 119: a timer goes on in a third loop if the thread that it was moved to ends, and its loop goes")
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

    @Test("item 142: a timer whose closure has moved it counts where it is, and not where it was")
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
                // Another date and tolerance, while it is firing there.
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
    /// How often a text occurs.
    fileprivate func occurrences(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
