// SPDX-License-Identifier: Apache-2.0
// A task waits on a loop; the task is cancelled and the loop's thread is stopped, in every order. Each task has to end,
// on the loop's thread for as long as the loop lives.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

let endingScenarios: [String: @Sendable () throws -> Void] = [
    "endings": endings,
    "late-jobs": lateJobs,
    "jobs-without-end": jobsWithoutEnd,
]

private enum Order: CaseIterable {
    case cancelStop, cancelImmediately, stopCancel, together, stopOnly, stopAndWait
}

/// The executor that the task prefers.
private enum Place: CaseIterable {
    case actorOfTheLoop, preferred, elsewhere
}

private struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func pause() { spin(for: .microseconds(Int.random(in: 0..<100, using: &self))) }
}

/// One task on one loop, from its beginning to its end.
private final class Ending: @unchecked Sendable {
    let worker: GRunLoop.Thread
    let (hasBegun, hasEnded) = (Flag(), Flag())
    /// Whether the task is cancelled while the loop lives, so that it must resume on the loop's thread.
    let isPrompt = Atomic(false)
    private let name: String
    private let id = Shared<pid_t>(0)
    /// Not atomic on purpose, because code that is isolated to the loop never runs at the same time.
    private var visits = 0

    init(_ name: String) throws {
        self.name = name
        let id = id
        worker = try GRunLoop.Thread(name: "ending") { _ in id.value = threadID }
    }

    /// Called by code that is isolated to the loop.
    func look(_ where: String) {
        visits += 1
        let isElsewhere = threadID != id.value
        if worker.loop.executor.isIsolatingCurrentContext() != true { fail("is not isolated \(`where`)") }
        if isElsewhere, worker.loop.homeContext != nil { fail("is not on the living loop's thread \(`where`)") }
        if isElsewhere, isPrompt.load(ordering: .sequentiallyConsistent) { fail("came too late \(`where`)") }
    }

    func fail(_ problem: String) {
        say("\(name) \(problem)")
        _exit(1)
    }
}

private actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var looks = 0

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Resident") }

    func wait(_ form: AwaitForm, _ ending: Ending, _ surroundings: AwaitForm.Surroundings) async {
        await waitLooking(form, ending, surroundings)
        countHere()
    }

    private nonisolated func countHere() { assumeIsolated { $0.looks += 1 } }
}

nonisolated(nonsending) private func waitLooking(
    _ form: AwaitForm, _ ending: Ending, _ surroundings: AwaitForm.Surroundings
) async {
    ending.look("before")
    ending.hasBegun.set()
    await form.wait(on: ending.worker.loop, surroundings)
    ending.look("after")
}

private func start(
    _ form: AwaitForm, in place: Place, _ ending: Ending, _ surroundings: AwaitForm.Surroundings
) -> Task<Void, Never> {
    let loop = ending.worker.loop
    switch place {
    case .actorOfTheLoop:
        return Task {
            await Resident(on: loop).wait(form, ending, surroundings)
            ending.hasEnded.set()
        }
    case .preferred:
        return Task(executorPreference: loop.executor) {
            await waitLooking(form, ending, surroundings)
            ending.hasEnded.set()
        }
    case .elsewhere:
        return Task {
            ending.hasBegun.set()
            await form.wait(on: loop, surroundings)
            ending.hasEnded.set()
        }
    }
}

private func run(_ form: AwaitForm, _ random: inout Random, _ surroundings: AwaitForm.Surroundings) throws {
    let order = Order.allCases.randomElement(using: &random).unsafelyUnwrapped
    let place = Place.allCases.randomElement(using: &random).unsafelyUnwrapped
    let ending = try Ending("\(form), \(place), \(order)")
    let worker = ending.worker
    let task = start(form, in: place, ending, surroundings)
    if order != .cancelImmediately {
        if !ending.hasBegun.wait() { ending.fail("has not begun") }
        random.pause()
    }
    switch order {
    case .cancelStop, .cancelImmediately:
        if order == .cancelStop, form != .plain { ending.isPrompt.store(true, ordering: .sequentiallyConsistent) }
        task.cancel()
        if Bool.random(using: &random) { random.pause() }
        worker.stop()
    case .stopCancel:
        worker.stop()
        if Bool.random(using: &random) { random.pause() }
        task.cancel()
    case .together:
        let canceller = startThread { task.cancel() }
        if Bool.random(using: &random) { random.pause() }
        worker.stop()
        join(canceller)
    case .stopOnly: worker.stop()
    case .stopAndWait:
        let isOver = Flag()
        Task {
            task.cancel()
            await worker.stopAndWait()
            isOver.set()
        }
        if !isOver.wait() { ending.fail("is not waited for") }
    }
    worker.join()
    if order == .stopOnly, !form.endsWithLoop { task.cancel() }
    if !ending.hasEnded.wait() { ending.fail("has lost its task") }
}

/// Makes GRUN_ENDINGS endings of each form. Without the variable: 1,000, or as many as 15 seconds allow.
private func endings() throws {
    let wanted = getenv("GRUN_ENDINGS").flatMap { Int(String(cString: $0)) }
    let surroundings = try AwaitForm.Surroundings()
    let limit = wanted == nil ? GRunLoop.now.advanced(by: .seconds(15)) : GRunLoop.distantFuture
    let round = Atomic(0)
    let made = Atomic(0)
    let threads = (0..<4).map { number in
        startThread {
            var random = Random(seed: UInt64(number))
            while GRunLoop.now < limit, round.add(1, ordering: .relaxed).newValue <= wanted ?? 1000 {
                for form in AwaitForm.allCases {
                    do { try run(form, &random, surroundings) } catch { say("\(error)") }
                }
                made.add(1, ordering: .relaxed)
            }
        }
    }
    for thread in threads { join(thread) }
    kill(surroundings.child, SIGKILL)
    say("each task has ended")
    printToStandardError("\(made.load(ordering: .relaxed)) endings of each form\n")
    exit(made.load(ordering: .relaxed) >= min(wanted ?? 10, 10) ? 0 : 1)
}

// MARK: Late jobs

private actor Late {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var calls: [Int] = []

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Late") }

    func call(_ number: Int) {
        count(number)
        spin(for: .microseconds(10))
    }

    private nonisolated func count(_ number: Int) { assumeIsolated { $0.calls.append(number) } }

    func all() -> [Int] { calls }

    /// Makes items of an actor whose loop has ended.
    func makeItems(on loop: GRunLoop) -> Bool {
        var fires = 0
        let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true, isolation: self) { _ in fires += 1 }
        loop.add(timer, forMode: .default)
        return !loop.contains(timer, forMode: .default)
    }
}

/// Jobs of two actors of one loop, and tasks that prefer its executor, after the loop's end.
private func lateJobs() throws {
    let worker = try GRunLoop.Thread(name: "short-lived")
    let loop = worker.loop
    let (late, other) = (Late(on: loop), Late(on: loop))
    say("made")
    worker.stop()
    worker.join()
    say("isolated: \(loop.executor.isIsolatingCurrentContext() ?? true)")
    let isOver = Flag()
    /// Not guarded, because late jobs run one after the other.
    nonisolated(unsafe) var preferred: [Int] = []
    let executor = loop.executor
    Task(executorPreference: executor) {
        // Late jobs run in the order in which they are enqueued.
        for number in 0..<1000 {
            Task(executorPreference: executor) {
                executor.checkIsolated()
                preferred.append(number)
            }
        }
    }
    Task {
        await withTaskGroup { group in
            for actor in [late, other] { group.addTask { for number in 0..<1000 { await actor.call(number) } } }
        }
        say("calls: \(await late.all() == Array(0..<1000)), \(await other.all() == Array(0..<1000))")
        say("items: \(await late.makeItems(on: loop))")
        say("tasks: \(await Task(executorPreference: executor) { preferred == Array(0..<1000) }.value)")
        say("run: \(await loop.run { executor.isIsolatingCurrentContext() == true })")
        say("isolated: \(executor.isIsolatingCurrentContext() ?? true)")
        isOver.set()
    }
    say("ended: \(isOver.wait())")
}

/// A task that yields forever, on a loop that ends.
private func jobsWithoutEnd() throws {
    let worker = try GRunLoop.Thread(name: "busy to the end")
    let task = Task(executorPreference: worker.loop.executor) { while !Task.isCancelled { await Task.yield() } }
    worker.stop()
    worker.join()
    say("joined")
    let isOver = Flag()
    Task {
        task.cancel()
        await task.value
        isOver.set()
    }
    say("ended: \(isOver.wait())")
}
