// SPDX-License-Identifier: Apache-2.0
// Lets tests of several suites use the main loop one at a time.

// Exported, because `#_sourceLocation`, the default of an argument, must be known where a test calls the function.
@_exported public import Testing

/// Runs a test while no other test with this trait runs: see `.mainLoop`.
public struct MainLoopTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the tests of a suite have the trait, too: yes. Threads: any.
    public var isRecursive: Bool { true }

    /// Runs a test as soon as no other test with this trait runs. Swift Testing calls it.
    ///
    /// - Throws: what the test throws.
    ///
    /// Threads: any.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite and a suite in it may both have the trait.
        if Self.isHeld { return try await function() }
        await MainLoopTurn.tests.begin()
        do {
            try await Self.$isHeld.withValue(true) { try await function() }
        } catch {
            await MainLoopTurn.tests.end()
            throw error
        }
        await MainLoopTurn.tests.end()
    }

    /// Whether the task belongs to a test that has its turn.
    @TaskLocal private static var isHeld = false
}

extension Trait where Self == MainLoopTrait {
    /// Runs tests that use the main loop one at a time, also if they are in different suites.
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
    /// The turns of virtual time.
    static let virtualTime = MainLoopTurn()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if isTaken { return await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    func end() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
