// SPDX-License-Identifier: Apache-2.0
// What the tests on the process's main thread share.

import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Its tests run on the main thread, with the main loop, and leave that as they found it.
class MainThreadTestCase: XCTestCase {
    /// Not Foundation's, which XCTest brings along.
    typealias Pipe = TestSupport.Pipe

    var loop: GRunLoop { GRunLoop.main }
    private var watchdog: Watchdog?

    /// Tests that are about turns have the one that programs have.
    var timeSlice: Duration { endlessTimeSlice }

    override func setUp() {
        XCTAssertEqual(threadID, getpid(), "XCTest has not called this on the main thread")
        XCTAssertTrue(GRunLoop.current === GRunLoop.main)
        // A host that was left in its sleep: afterWaiting is owed, and told before the next run, of whatever mode.
        loop.run(mode: "of no test", for: .zero)
        loop.timeSlice = timeSlice
        watchdog = Watchdog(Patience.normal * 3, "\(name) did not end")
    }

    // MARK: Again, if the host was disturbed

    private struct Failure: Equatable {
        let description: String
        let file: String
        let line: Int
        let isExpected: Bool
    }

    private let test: (XCTestCase) throws -> Void
    /// While attempts are made: what the last one has recorded.
    private var failures: [Failure]?
    /// Of an attempt: the test case that XCTest knows.
    private var original: MainThreadTestCase?

    required init(name: String, testClosure: @escaping (XCTestCase) throws -> Void) {
        test = testClosure
        super.init(name: name, testClosure: testClosure)
    }

    /// A test whose host lost the processor where it may not sleep may have seen another sleep. It is run again then,
    /// and only then: a test that fails undisturbed has failed. By another object, since one can be torn down once.
    override func invokeTest() {
        guard original == nil else { return super.invokeTest() }
        let end = GRunLoop.now.advanced(by: Patience.normal)
        while true {
            failures = []
            let before = hostDisturbances.value
            let attempt = Self(name: name, testClosure: test)
            attempt.original = self
            attempt.invokeTest()
            if failures == [] || hostDisturbances.value == before || GRunLoop.now >= end { break }
        }
        for failure in failures.take() ?? [] {
            super.recordFailure(
                withDescription: failure.description, inFile: failure.file, atLine: failure.line,
                expected: failure.isExpected)
        }
    }

    override func recordFailure(
        withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
        if let original {
            original.recordFailure(
                withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
        } else if failures == nil {
            super.recordFailure(
                withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
        } else {
            failures?.append(Failure(description: description, file: filePath, line: lineNumber, isExpected: expected))
        }
    }

    override func tearDown() {
        watchdog?.disarm()
        XCTAssertNil(loop.currentMode)
        XCTAssertTrue(loop.description.contains("common mode items = (none)"), "a common item was left behind")
    }

    /// The host's endless run begins anew: its first pass is next, and entry comes before that.
    func freshHostedRun() {
        loop.detach()
        loop.attach()
    }

    /// Keeps an item until the end of the test, and invalidates it then.
    @discardableResult func temporary<Kind: GRunLoop.Item>(
        _ item: Kind, _ mode: GRunLoop.Mode = .default
    ) throws(Kind.AddError) -> Kind {
        try loop.add(item, forMode: mode)
        addTeardownBlock { item.invalidate() }
        return item
    }

    /// Records stages until the end of the test.
    func observe(_ trace: Recorder, _ mode: GRunLoop.Mode = .default, _ activities: GRunLoop.Activity = .all) {
        temporary(GRunLoop.Observer(activities: activities) { _, activity in trace(activity.description) }, mode)
    }

    func once(_ activities: GRunLoop.Activity, _ mode: GRunLoop.Mode = .default, _ body: @escaping @Sendable () -> Void)
    {
        temporary(GRunLoop.Observer(activities: activities, repeats: false) { _, _ in body() }, mode)
    }

    @discardableResult func after(
        _ delay: Duration, _ mode: GRunLoop.Mode = .default, _ body: @escaping @Sendable () -> Void
    ) -> GRunLoop.Timer {
        temporary(GRunLoop.Timer(interval: delay, repeats: false) { _ in body() }, mode)
    }

    @discardableResult func source(
        _ mode: GRunLoop.Mode = .default, _ perform: @escaping @Sendable () -> Void
    ) -> GRunLoop.Source {
        temporary(GRunLoop.Source(perform: perform), mode)
    }

    /// Calls `body` on another thread once the main loop sleeps.
    func whenAsleep(_ body: @escaping @Sendable () -> Void) {
        let thread = startThread {
            let isAsleep = fallsAsleep(GRunLoop.main, thread: getpid())
            precondition(isAsleep, "the main loop does not sleep")
            body()
        }
        addTeardownBlock { pthread_join(thread, nil) }
    }
}
