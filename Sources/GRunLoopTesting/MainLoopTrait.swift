// SPDX-License-Identifier: Apache-2.0
// Lets tests of several suites use the main loop one at a time.

public import Testing

/// Runs a test while no other test with this trait runs: see `.mainLoop`.
public struct MainLoopTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the tests of a suite have the trait, too: yes. Threads: any.
    public var isRecursive: Bool { true }

    /// The trait provides a scope for each test and for each of its arguments, but not for a suite. Threads: any.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite ? nil : self }

    /// Runs a test as soon as no other test with this trait runs. Swift Testing calls it, outside of the test's time
    /// limit. It is called again for each argument of the test.
    ///
    /// - Throws: what the test throws.
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

    /// Whether the task belongs to a test that has its turn. A test may have the trait twice, by its suites.
    @TaskLocal private static var holdsTest = false
    /// Whether the task belongs to an argument that has its turn.
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
    /// Swift Testing runs tests at the same time. They all share one main loop, one clock of this loop in virtual time,
    /// and one GTK. At each `await` of one test, another one may go on. `.serialized` keeps only the tests of one suite
    /// apart. Tests without this trait still run at the same time.
    ///
    /// Threads: any.
    public static var mainLoop: Self { Self() }
}

/// Lets one task at a time go on, in the order in which they came.
@MainActor final class MainLoopTurn {
    /// The turns of tests with the trait ``MainLoopTrait``.
    static let tests = MainLoopTurn()
    /// The turns of the arguments of one such test.
    static let arguments = MainLoopTurn()
    /// The turns of virtual time.
    static let virtualTime = MainLoopTurn()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if isTaken { return await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    /// Calls the closure in a turn, unless the task has its turn already.
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
