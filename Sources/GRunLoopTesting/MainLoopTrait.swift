// SPDX-License-Identifier: Apache-2.0
// Lets tests of several suites use the main loop one at a time.

public import Testing

/// Runs a test while no other test with this trait runs: see `.mainLoop`.
public struct MainLoopTrait: TestTrait, SuiteTrait, TestScoping {
    /// Always true: the tests of a suite also have the trait. Threads: any.
    public var isRecursive: Bool { true }

    /// Returns the trait for each test and for each argument of a test, but not for a suite. Threads: any.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite ? nil : self }

    /// Runs a test as soon as no other test with this trait runs. Swift Testing calls this function outside of the
    /// test's time limit, and again for each argument of the test.
    ///
    /// - Throws: the error of the test.
    ///
    /// Threads: any.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if testCase == nil {
            try await MainLoopTurn.tests.hold(Self.$holdsTest, function)
        } else {
            try await MainLoopTurn.arguments.hold(Self.$holdsArgument, function)
        }
    }

    /// True if the task belongs to a test that already holds the turn. A test may have the trait twice, because its
    /// suites may also have it.
    @TaskLocal private static var holdsTest = false
    /// True if the task belongs to an argument that already holds the turn.
    @TaskLocal private static var holdsArgument = false
}

extension Trait where Self == MainLoopTrait {
    /// Runs the tests with this trait one at a time, even if they are in different suites.
    ///
    /// ```swift
    /// @MainActor @Suite(.mainLoop) struct WindowTests { ... }
    /// @MainActor @Suite(.mainLoop) struct ClockTests { ... }
    /// ```
    ///
    /// Swift Testing runs tests at the same time. All tests share one main loop, one virtual clock of this loop, and
    /// one GTK. While one test awaits, another test may continue. `.serialized` only serializes the tests of one suite.
    /// Tests without this trait still run at the same time.
    ///
    /// Threads: any.
    public static var mainLoop: Self { Self() }
}

/// Lets one task at a time continue, in the order in which the tasks began to wait.
@MainActor final class MainLoopTurn {
    /// The turns of tests with the trait ``MainLoopTrait``.
    static let tests = MainLoopTurn()
    /// The turns of the arguments of one test with this trait.
    static let arguments = MainLoopTurn()
    /// The turns of virtual time.
    static let virtualTime = MainLoopTurn()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if isTaken { return await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    /// Waits for a turn, and calls the closure in it. If the task already holds the turn, calls the closure
    /// immediately.
    nonisolated func hold(_ isHeld: TaskLocal<Bool>, _ body: @Sendable () async throws -> Void) async throws {
        if isHeld.get() { return try await body() }
        await begin()
        do {
            try await isHeld.withValue(true) { try await body() }
        } catch {
            await end()
            throw error
        }
        await end()
    }

    func end() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
