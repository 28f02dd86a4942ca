// SPDX-License-Identifier: Apache-2.0
// Reports a failure to the testing library that runs the current test.

import Testing
import XCTest

/// Records a failure of the current test, in Swift Testing or in XCTest.
@MainActor func fail(at location: SourceLocation, _ text: String) {
    if Test.current == nil, let test = CurrentTestCase.observer.test {
        test.recordFailure(
            withDescription: text, inFile: location.filePath, atLine: location.line, expected: true)
    } else {
        Issue.record(Comment(rawValue: text), sourceLocation: location)
    }
}

/// Records which test XCTest runs.
final class CurrentTestCase: NSObject, XCTestObservation {
    @MainActor static let observer = CurrentTestCase()

    /// Used on the main thread only, because XCTest calls its observers on this thread.
    nonisolated(unsafe) private(set) var test: XCTestCase?

    func testCaseWillStart(_ testCase: XCTestCase) { test = testCase }

    func testCaseDidFinish(_ testCase: XCTestCase) { test = nil }
}
