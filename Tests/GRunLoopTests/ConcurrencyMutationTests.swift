// SPDX-License-Identifier: Apache-2.0
// Many threads add, move, remove and invalidate items while their loop runs.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Concurrency: changes") struct ConcurrencyMutationTests {
    private static let modes: [GRunLoop.Mode] = [.default, .common, "M", "N"]

    @Test("while many threads add, remove and invalidate sources, every schedule call has its cancel call")
    func sources() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            try loop.addCommonMode("N")
            // For each source, the number of schedules minus cancels of each mode.
            let balance = Shared<[[GRunLoop.Mode: Int]]>(Array(repeating: [:], count: 6))
            let performed = Counter()
            let sources = (0..<6).map { index in
                GRunLoop.Source(
                    schedule: { _, mode in balance.update { $0[index][mode, default: 0] += 1 } },
                    cancel: { _, mode in balance.update { $0[index][mode, default: 0] -= 1 } },
                    perform: { performed.increment() })
            }
            concurrently(4) { worker in
                var random = SeededRandom(seed: UInt64(worker))
                for _ in 0..<1500 {
                    let source = sources[Int.random(in: 0..<6, using: &random)]
                    let mode = Self.modes[Int.random(in: 0..<4, using: &random)]
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0, 1: loop.add(source, forMode: mode)
                    case 2: loop.remove(source, forMode: mode)
                    default:
                        source.signal()
                        loop.wakeUp()
                    }
                }
                sources[worker].invalidate()
            }
            for (index, source) in sources.enumerated() {
                #expect(source.isValid == (index >= 4))
                for mode in [.default, "M", "N"] as [GRunLoop.Mode] {
                    #expect(balance.value[index][mode, default: 0] == (loop.contains(source, forMode: mode) ? 1 : 0))
                }
                #expect(balance.value[index][.common] == nil)
                source.invalidate()
                #expect(balance.value[index].values.allSatisfy { $0 == 0 })
                for mode in Self.modes { #expect(!loop.contains(source, forMode: mode)) }
            }
            // An invalid source is never performed again.
            thread.settle()
            let before = performed.value
            for source in sources { source.signal() }
            loop.wakeUp()
            thread.settle()
            #expect(performed.value == before)
            thread.finish()
        }
    }

    @Test(
        "a source that joins and leaves modes of several loops is performed for its signals, without a race"
    )
    func signalsBesideMemberships() {
        // Runs in another process: scripts/sanitize builds it with optimization, where alone the sanitizer sees arrays.
        let child = runChild("signals-beside-memberships")
        #expect(child.output == ["missed 0"], "\(child.errors)")
        #expect(child.status == 0)
    }

    @Test("a timer that other threads add, move and remove fires once, unless it is invalidated")
    func oneShotTimers() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let (workers, count) = (4, 150)
            let fires = Shared(Array(repeating: 0, count: workers * count))
            let kept = Shared<[Int]>([])
            concurrently(workers) { worker in
                var random = SeededRandom(seed: UInt64(worker) + 10)
                for number in 0..<count {
                    let index = worker * count + number
                    let timer = GRunLoop.Timer(fireAt: GRunLoop.now.advanced(by: .milliseconds(2))) { _ in
                        fires.update { $0[index] += 1 }
                    }
                    loop.add(timer, forMode: Bool.random(using: &random) ? .common : .default)
                    for _ in 0..<3 {
                        switch Int.random(in: 0..<5, using: &random) {
                        case 0: timer.fireDate = GRunLoop.now
                        case 1: timer.fireDate = GRunLoop.now.advanced(by: .microseconds(300))
                        case 2: timer.tolerance = .milliseconds(1)
                        case 3: loop.add(timer, forMode: "M")
                        default:
                            loop.remove(timer, forMode: .default)
                            loop.add(timer, forMode: .default)
                        }
                    }
                    if number % 5 == 0 { timer.invalidate() } else { kept.update { $0.append(index) } }
                }
            }
            let must = kept.value
            #expect(fires.wait { fires in must.allSatisfy { fires[$0] == 1 } })
            thread.settle()
            #expect(fires.value.allSatisfy { $0 <= 1 })
            thread.finish()
        }
    }

    @Test("a timer, source or observer is not called after another thread has invalidated it")
    func noCallAfterInvalidation() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let late = Counter()
            concurrently(3) { worker in
                for _ in 0..<100 {
                    let (called, ended) = (Counter(), Flag())
                    let call = { @Sendable () -> Void in
                        called.increment()
                        if ended.isSet { late.increment() }
                    }
                    let invalidate: () -> Void
                    switch worker {
                    case 0:
                        let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .microseconds(50)) { _ in call() }
                        loop.add(timer, forMode: .default)
                        invalidate = timer.invalidate
                    case 1:
                        let again = Shared<GRunLoop.Source?>(nil)
                        let source = loop.source {
                            call()
                            again.value?.signal()
                        }
                        again.value = source
                        source.signal()
                        loop.wakeUp()
                        invalidate = {
                            source.invalidate()
                            again.value = nil
                        }
                    default:
                        invalidate = loop.on(.all) { _ in call() }.invalidate
                        loop.wakeUp()
                    }
                    _ = called.wait(for: 2)
                    invalidate()
                    // A call may still be in progress. It has ended when the loop performs a later request.
                    thread.settle()
                    ended.set()
                }
            }
            thread.settle()
            thread.finish()
            #expect(late.value == 0)
        }
    }

    @Test("items that threads make common, while modes become common, are in all common modes or in none")
    func commonItems() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            for round in 0..<40 {
                let timers = (0..<4).map { _ in GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in } }
                let observers = (0..<4).map { _ in GRunLoop.Observer(activities: .exit) { _, _ in } }
                let sources = (0..<4).map { _ in GRunLoop.Source {} }
                let modes = (0..<3).map { GRunLoop.Mode("mode \(round) \($0)") }
                concurrently(4) { worker in
                    for index in 0..<4 {
                        let number = (index + worker) % 4
                        if worker == 0 {
                            if index < 3 { try? loop.addCommonMode(modes[index]) }
                        } else if worker == 3 {
                            loop.remove(timers[number], forMode: .common)
                            loop.remove(observers[number], forMode: .common)
                            loop.remove(sources[number], forMode: .common)
                        } else {
                            loop.add(timers[number], forMode: .common)
                            loop.add(observers[number], forMode: .common)
                            loop.add(sources[number], forMode: .common)
                        }
                    }
                }
                for mode in [.default] + modes {
                    for number in 0..<4 {
                        let (timer, observer, source) = (timers[number], observers[number], sources[number])
                        #expect(loop.contains(timer, forMode: mode) == loop.contains(timer, forMode: .common))
                        #expect(loop.contains(observer, forMode: mode) == loop.contains(observer, forMode: .common))
                        #expect(loop.contains(source, forMode: mode) == loop.contains(source, forMode: .common))
                    }
                }
                for number in 0..<4 {
                    timers[number].invalidate()
                    observers[number].invalidate()
                    sources[number].invalidate()
                }
            }
            thread.finish()
        }
    }

    @Test("descriptor sources that threads add and remove get every event once, and none after their removal")
    func descriptors() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let wrong = Counter()
            concurrently(3) { worker in
                let event = EventDescriptor()
                for round in 0..<150 {
                    let (received, isOut) = (Counter(), Flag())
                    let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                        if isOut.isSet { wrong.increment() }
                        if event.consume() > 0 { received.increment() }
                    }
                    let mode: GRunLoop.Mode = round % 2 == 0 ? .default : .common
                    if (try? loop.add(source, forMode: mode)) == nil { wrong.increment() }
                    event.makeReady()
                    if !received.wait(for: 1) { wrong.increment() }
                    if worker == 0 { source.invalidate() } else { loop.remove(source, forMode: mode) }
                    thread.settle()
                    isOut.set()
                    event.makeReady()
                    thread.settle()
                    event.consume()
                    if received.value != 1 { wrong.increment() }
                }
            }
            thread.finish()
            #expect(wrong.value == 0)
        }
    }
}
