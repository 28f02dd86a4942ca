// SPDX-License-Identifier: Apache-2.0
// Tests a model of the main actor in virtual time. Here libdispatch runs the main queue on any thread. The package
// Tests/Finder has such tests on the main thread.

import GRunLoop
import TestSupport
import Testing

/// A model as in an application: it is isolated to the main actor, and uses timers of the main loop or of a loop that a
/// test passes.
@MainActor private final class Countdown {
    private(set) var remaining: Int
    private let loop: GRunLoop

    init(from seconds: Int, loop: GRunLoop = .main) {
        remaining = seconds
        self.loop = loop
    }

    func start() {
        let timer = GRunLoop.Timer(
            interval: .seconds(1), repeats: true
        ) { @MainActor [weak self] timer in
            guard let self, remaining > 0 else { return timer.invalidate() }
            remaining -= 1
        }
        loop.add(timer, forMode: .common)
    }
}

@Suite("Virtual time: the main actor") struct VirtualTimeMainActorTests {
    @MainActor @Test("a model of the main actor, with timers of the main loop, lives for an hour that takes no time")
    func model() {
        GRunLoop.withVirtualTime { time in
            let countdown = Countdown(from: 3600, loop: time.loop)
            countdown.start()
            time.advance(by: .seconds(3599))
            #expect(countdown.remaining == 1)
            time.advance(by: .seconds(10))
            #expect(countdown.remaining == 0)
            #expect(time.loop.nextFireDate(forMode: .default) == nil)
        }
    }

    @MainActor @Test("every item of the main loop may be in a loop of virtual time that is on the main actor")
    func everyItem() throws {
        try GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let trace = Recorder()
            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { @MainActor source, _ in
                trace("descriptor")
                source.invalidate()
            }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            let source = GRunLoop.Source { @MainActor in trace("source") }
            loop.add(source, forMode: .default)
            source.signal()
            loop.add(GRunLoop.Timer(fireAt: time.now) { @MainActor _ in trace("timer") }, forMode: .default)
            loop.add(
                GRunLoop.Timer(interval: .seconds(1), repeats: false) { @MainActor _ in trace("later") },
                forMode: .default)
            loop.add(
                GRunLoop.Observer(activities: .entry, repeats: false) { @MainActor _, _ in trace("observer") },
                forMode: .default)
            GRunLoop.Timer(fireAt: time.now) { @MainActor _ in trace("by hand") }.fire()
            loop.perform { MainActor.assumeIsolated { trace("block") } }
            time.advance(by: .seconds(1))
            #expect(trace.lines.sorted() == ["block", "by hand", "descriptor", "later", "observer", "source", "timer"])
        }
    }

    @Test(
        "on other threads an item of the main loop stops the program with a message, in virtual time as well",
        arguments: ["virtual", "real"])
    func elsewhere(time: String) {
        let child = runChild("main-item-elsewhere-in-\(time)-time")
        #expect(child.output == [])
        #expect(child.signal != nil)
        #expect(
            child.errorCount(of: "the closure of this Timer belongs to an actor that does not run on this run loop")
                == 1,
            "\(child.errors)")
    }
}

@Suite("Virtual time: the hidden loop") struct HiddenLoopTests {
    @Test("a perform on the thread of a hidden loop runs directly, because the waiting caller is on that thread")
    func performAndWait() async throws {
        try await onFreshThread { loop in
            func currentLoop(on loop: GRunLoop) -> GRunLoop? { try? loop.performAndWait { GRunLoop.current } }
            GRunLoop.withVirtualTime { outer in
                #expect(currentLoop(on: loop) === outer.loop)
                GRunLoop.withVirtualTime { inner in
                    #expect(currentLoop(on: loop) === inner.loop)
                    #expect(currentLoop(on: outer.loop) === inner.loop)
                }
            }
            #expect(currentLoop(on: loop) === loop)
        }
    }

    @Test("a hidden loop does not run, and logs the reason; afterwards it runs")
    func runs() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let (_, messages) = capturingLog {
                GRunLoop.withVirtualTime { _ in
                    #expect(loop.run(for: .zero) == .finished)
                    loop.perform(after: .zero) { Issue.record("performed") }
                }
            }
            #expect(messages.count == 2)
            #expect(messages.allSatisfy { $0.contains("this thread is in virtual time") }, "\(messages)")
            #expect(loop.run(for: .zero) == .timedOut)
        }
    }

    @Test("another thread's loop is not hidden")
    func otherThread() async throws {
        try await onFreshThread { loop in
            let other = LoopThread.running()
            GRunLoop.withVirtualTime { _ in
                #expect(throws: Never.self) {
                    try other.loop.performAndWait { #expect(GRunLoop.current === other.loop) }
                }
            }
            other.finish()
        }
    }
}
