// SPDX-License-Identifier: Apache-2.0
// A model of the main actor in virtual time, with XCTest: on the main thread. GRunLoopTests has the same with Swift
// Testing.

import GRunLoop
import TestSupport
import XCTest

/// A model as an application has it: of the main actor, with timers of the main loop, and a loop that a test can give
/// it.
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

final class MainVirtualTimeTests: MainThreadTestCase {
    /// A model of the main actor, with timers of the main loop, in an hour that takes no time.
    @MainActor func testModel() {
        GRunLoop.withVirtualTime { time in
            let countdown = Countdown(from: 3600, loop: time.loop)
            countdown.start()
            time.advance(by: .seconds(3599))
            XCTAssertEqual(countdown.remaining, 1)
            time.advance(by: .seconds(10))
            XCTAssertEqual(countdown.remaining, 0)
            XCTAssertNil(time.loop.nextFireDate(forMode: .default))
        }
    }

    /// Every item of the main loop may be in a loop of virtual time, also in a test that is not of the main actor.
    func testEveryItem() throws {
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
            loop.add(
                GRunLoop.Timer(interval: .seconds(1), repeats: false) { @MainActor _ in trace("timer") },
                forMode: .default)
            loop.add(
                GRunLoop.Observer(activities: .entry, repeats: false) { @MainActor _, _ in trace("observer") },
                forMode: .default)
            time.advance(by: .seconds(1))
            XCTAssertEqual(trace.lines.sorted(), ["descriptor", "observer", "source", "timer"])
        }
    }

    /// The main loop stays the main loop: what is enqueued there waits until it runs, and what its thread waits for is
    /// performed at once.
    func testMainLoopMeanwhile() throws {
        let trace = Recorder()
        let main = loop
        let (_, messages) = capturingLog {
            GRunLoop.withVirtualTime { time in
                XCTAssertTrue(GRunLoop.main === main)
                XCTAssertTrue(GRunLoop.current === time.loop)
                GRunLoop.asyncOnMain { trace("block") }
                XCTAssertEqual(try? GRunLoop.main.performAndWait { threadID }, getpid())
                time.advance(by: .seconds(60))
                XCTAssertEqual(trace.lines, [])
                XCTAssertEqual(GRunLoop.main.run(for: .zero), .finished)
            }
        }
        XCTAssertEqual(messages.count, 1)
        XCTAssertTrue(messages[0].contains("this thread is in virtual time"), "\(messages)")
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["block"])
    }
}
