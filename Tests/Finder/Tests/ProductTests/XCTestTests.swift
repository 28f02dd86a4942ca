// SPDX-License-Identifier: Apache-2.0
// GRunLoopTesting under XCTest, which waits for its async tests in Foundation's run loop.

import GRunLoop
import GRunLoopTesting
import Testing
import XCTest

final class MainThreadCases: XCTestCase {
    @MainActor func testAwaitOnTheMainActor() async throws {
        XCTAssertTrue(isOnMainThread())
        try await GRunLoop.main.sleep(for: .milliseconds(1))
        XCTAssertTrue(isOnMainThread())
        try await Task.sleep(for: .milliseconds(1))
        XCTAssertTrue(isOnMainThread())
    }

    func testAwaitElsewhere() async throws {
        try await GRunLoop.main.sleep(for: .milliseconds(1))
        let isMain = await MainActor.run { isOnMainThread() }
        XCTAssertTrue(isMain)
    }

    func testSynchronous() {
        XCTAssertEqual(GRunLoop.main.run(for: .milliseconds(1)), .timedOut)
    }

    @MainActor func testEventually() async {
        var count = 0
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { @MainActor _ in count += 1 }
        GRunLoop.main.add(timer, forMode: .common)
        let holds = await eventually { count >= 5 }
        timer.invalidate()
        XCTAssertTrue(holds)
    }

    @MainActor func testFailuresHaveAPlace() async {
        let line = #line + 2
        expectsFailures = true
        await eventually(within: .zero) { false }
        XCTAssertEqual(recorded, [line])
    }

    @MainActor func testVirtualTime() async {
        await withVirtualTime { time in
            var ticks = 0
            let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { @MainActor _ in ticks += 1 }
            GRunLoop.main.add(timer, forMode: .common)
            await time.advance(by: .seconds(3600))
            XCTAssertEqual(ticks, 3600)
            timer.invalidate()
        }
    }

    func testExpectations() {
        let done = expectation(description: "the main loop is served while XCTest waits")
        GRunLoop.main.perform(after: .milliseconds(1)) { done.fulfill() }
        wait(for: [done], timeout: 10)
    }

    // MARK: Expected failures: XCTest on Linux has none

    private var expectsFailures = false
    private var recorded: [Int] = []

    override func recordFailure(
        withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
        if expectsFailures {
            recorded.append(lineNumber)
        } else {
            super.recordFailure(
                withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
        }
    }
}
