// SPDX-License-Identifier: Apache-2.0
// A task awaits a GIO operation when the loop's thread ends. Either the operation or the end resumes the task, but not
// both.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport
import Testing

/// A read from a socket in the context of a loop, made awaitable as a program would do it.
private struct Reading: Sendable {
    let loop: GRunLoop
    let pair = SocketPair()
    let hasBegun = Flag()
    let hasCompleted = Flag()

    nonisolated(nonsending) func value() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            let ending = try? loop.addEndHandler { continuation.resume(throwing: GRunLoop.LoopEndedError()) }
            guard let ending else { return continuation.resume(throwing: GRunLoop.LoopEndedError()) }
            loop.async {
                let connection = GioConnection(adopting: dup(pair.one))
                connection.read { text in
                    if ending.cancel() { continuation.resume(returning: text) }
                    hasCompleted.set()
                }
                hasBegun.set()
            }
        }
    }

    func send() {
        #expect(write(pair.other, "hello", 5) == 5)
    }
}

private actor Reader {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Reader")
    }

    func outcome(of reading: Reading) async -> String { await EndInFlightTests.outcome(of: reading) }
}

@Suite("End handlers: operations in flight") struct EndInFlightTests {
    enum Caller: CaseIterable {
        case elsewhere, onTheLoop, actorOfTheLoop

        /// Returns the operation's result, and whether the task then runs on the loop's thread.
        fileprivate func begin(_ reading: Reading) -> Task<String, Never> {
            switch self {
            case .elsewhere: Task { await EndInFlightTests.outcome(of: reading) }
            case .onTheLoop:
                Task(executorPreference: reading.loop.executor) { await EndInFlightTests.outcome(of: reading) }
            case .actorOfTheLoop:
                Task(executorPreference: reading.loop.executor) { await Reader(on: reading.loop).outcome(of: reading) }
            }
        }

        var place: String { self == .elsewhere ? "elsewhere" : "on the loop" }
    }

    nonisolated(nonsending) fileprivate static func outcome(of reading: Reading) async -> String {
        let text: String
        do {
            text = try await reading.value()
        } catch {
            text = "\(error is GRunLoop.LoopEndedError)"
        }
        return text + (reading.loop.executor.isIsolatingCurrentContext() == true ? ", on the loop" : ", elsewhere")
    }

    @Test(
        "the thread's end resumes its task with an error, in time for the loop's jobs; a later completion is ignored",
        arguments: Caller.allCases)
    func threadEnds(caller: Caller) async throws {
        let worker = try GRunLoop.Thread(name: "in flight")
        let reading = Reading(loop: worker.loop)
        let outcome = caller.begin(reading)
        while !reading.hasBegun.isSet { await Task.yield() }
        let context = try #require(worker.loop.homeContext)
        worker.stop()
        #expect(await outcome.value == "true, \(caller.place)")
        await worker.waitUntilEnded()
        // GIO calls its callback if some code iterates the context afterwards.
        reading.send()
        #expect(
            waitUntil {
                context.withPointer { _ = g_main_context_iteration($0, 0) }
                return reading.hasCompleted.isSet
            })
    }

    @Test("an operation that completes first returns its value and removes its handler", arguments: Caller.allCases)
    func completes(caller: Caller) async throws {
        let worker = try GRunLoop.Thread(name: "completes")
        let reading = Reading(loop: worker.loop)
        let outcome = caller.begin(reading)
        while !reading.hasBegun.isSet { await Task.yield() }
        reading.send()
        #expect(await outcome.value == "hello, \(caller.place)")
        // A remaining handler would resume the continuation a second time, which stops the process.
        worker.stop()
        await worker.waitUntilEnded()
    }

    @Test("an operation does not begin on a loop whose thread has ended")
    func tooLate() async throws {
        let worker = try GRunLoop.Thread(name: "too late")
        worker.stop()
        await worker.waitUntilEnded()
        let reading = Reading(loop: worker.loop)
        #expect(await Caller.elsewhere.begin(reading).value == "true, elsewhere")
        #expect(!reading.hasBegun.isSet)
    }
}
