// SPDX-License-Identifier: Apache-2.0
// The base class of the tests on the process's main thread.

import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Its tests run on the main thread with the main loop, and check that they leave no common item and no mode behind.
class MainThreadTestCase: XCTestCase {
    /// Hides Foundation's Pipe, which XCTest exports.
    typealias Pipe = TestSupport.Pipe

    var loop: GRunLoop { GRunLoop.main }
    private var watchdog: Watchdog?

    /// Tests about turns return the slice that programs have.
    var timeSlice: Duration { endlessTimeSlice }

    override func setUp() {
        XCTAssertEqual(threadID, getpid(), "XCTest has not called this on the main thread")
        XCTAssertTrue(GRunLoop.current === GRunLoop.main)
        // The previous test may have left a host in its sleep. This run in an unused mode delivers the afterWaiting.
        loop.run(mode: "of no test", for: .zero)
        loop.timeSlice = timeSlice
        watchdog = Watchdog(Patience.normal * 3, "\(name) did not end")
    }

    // MARK: Retries after disturbances of the host

    private struct Failure: Equatable {
        let description: String
        let file: String
        let line: Int
        let isExpected: Bool
    }

    private let test: (XCTestCase) throws -> Void
    /// The failures of the last attempt, while attempts are made.
    private var failures: [Failure]?
    /// In an attempt, the test case that XCTest knows.
    private var original: MainThreadTestCase?

    required init(name: String, testClosure: @escaping (XCTestCase) throws -> Void) {
        test = testClosure
        super.init(name: name, testClosure: testClosure)
    }

    /// If the host's thread was preempted where it may not sleep, the test may have seen an additional sleep. Only then
    /// is a failed test run again. Each attempt is a new object, because an object is torn down only once.
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

    /// Restarts the host's endless run, so that entry and the first pass come next.
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
