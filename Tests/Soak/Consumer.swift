// SPDX-License-Identifier: Apache-2.0
// A loop that producers pass their events to, and the state of its thread.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

final class Consumer: @unchecked Sendable {
    let name: String
    let loop: GRunLoop
    let isMain: Bool
    let isHosted: Bool
    /// The context that every common mode serves.
    let home: GRunLoop.Context

    /// The producers that use this loop and need it alive. A loop waits for them before it ends.
    private let holds = Shared((count: 0, isClosed: false))
    private let lanes = Shared<[Lane]>([])
    private let sharedSource = Shared<SharedSource?>(nil)
    /// Every producer sends into this channel. It is small, so it is full at times.
    let channel = GRunLoop.Channel<@Sendable () -> Void>(capacity: 16)
    /// Every producer sends messages to this port. It is in two modes, and smaller than the channel.
    let port = Consumer.makePort()
    let crowds = Crowds()
    /// Every producer enqueues into this queue.
    let idleQueue = GRunLoop.IdleQueue(timePerPass: .microseconds(100))
    /// Every producer enqueues into this queue. The name is the producer's number.
    let notifications: GRunLoop.NotificationQueue<Int, @Sendable () -> Void>
    private let observation: GRunLoop.Observation
    /// Final checks, for a time when no producer works and the loop has served everything.
    private let settlements = Shared<[@Sendable () -> Void]>([])

    // Used on the loop's thread only.
    private let thread = pthread_self()
    private var last = Kind.allCases.map { _ in Int64(0) }
    /// Runs that are nested in blocks.
    private(set) var blockDepth = 0
    /// Runs and iterations that callouts have begun.
    private(set) var nesting = 0
    /// True while the loop is detached from its host. Then nothing may be called.
    var isDetached = false
    var isEnding = false

    /// Must be called on the loop's thread.
    init(_ name: String, isMain: Bool = false, isHosted: Bool) {
        self.name = name
        self.isMain = isMain
        self.isHosted = isHosted
        loop = isMain ? GRunLoop.main : GRunLoop.current
        notifications = .init(on: loop)
        observation = notifications.observe { $0.payload() }
        // The source keeps both modes from being finished.
        let keeper = loop.keepAlive(.common)
        loop.add(keeper, forMode: .soak)
        guard let context = loop.homeContext else { fatalError("a loop with an item has no home context") }
        home = context
        channel.receive(on: loop) { body in body() }
        loop.add(idleQueue, forMode: .common)
        loop.add(port, forMode: .common)
        loop.add(port, forMode: .soak)
    }

    // MARK: Users

    func hold() -> Bool {
        holds.update {
            if !$0.isClosed { $0.count += 1 }
            return !$0.isClosed
        }
    }

    func release() { holds.update { $0.count -= 1 } }

    /// Whether events that the loop accepts now must be delivered.
    var mustDeliver: Bool { !holds.value.isClosed }

    func close() { holds.update { $0.isClosed = true } }
    var isUnused: Bool { holds.value.count == 0 }

    // MARK: Ledgers

    /// Returns the ledger of a producer. The producer's thread and the final checks look it up.
    func lane(_ kind: Kind, of producer: Int) -> Lane {
        lanes.update { lanes in
            if let known = lanes.first(where: { $0.kind == kind && $0.producer == producer }) { return known }
            let lane = Lane(kind, producer: producer, consumer: self)
            lanes.append(lane)
            return lane
        }
    }

    /// A copy of the array, because other threads change the original.
    var allLanes: [Lane] { lanes.update { $0.map(\.self) } }

    /// Every producer signals this source.
    var common: SharedSource {
        sharedSource.update {
            if let known = $0 { return known }
            let source = SharedSource(self)
            $0 = source
            return source
        }
    }

    func forget() {
        lanes.update { $0 = [] }
        let source = sharedSource.update { $0.take() }
        source?.end()
    }

    func settleWhenIdle(_ settle: @escaping @Sendable () -> Void) { settlements.update { $0.append(settle) } }

    func settleAll() {
        let all = settlements.update { settlements in
            defer { settlements = [] }
            return settlements
        }
        for settle in all { settle() }
    }

    var debts: [String] { allLanes.filter { !$0.isSettled }.map(\.debt) + (sharedSource.value?.debts ?? []) }

    /// Describes the undelivered events. Another thread asks the loop, because that call hangs if a lock is held.
    var state: String {
        let text = Shared("its description cannot be had: a lock is held")
        let asker = startThread { [loop] in
            let description = loop.description
            text.value = "\(description) isWaiting \(loop.isWaiting)"
        }
        pthread_detach(asker)
        _ = waitUntil(timeout: .seconds(2)) { text.value.hasPrefix("<") }
        return (debts + ["on \(name): \(text.value)"]).joined(separator: "; ")
    }

    // MARK: In callouts

    /// Checks every callout: it must come on the loop's thread, not while the loop is detached, in one of its modes, in
    /// time, and under no lock.
    func enter(_ kind: Kind, owedSince since: Int64, _ producer: Int) {
        let count = Census.shared.deliver(kind)
        guard pthread_equal(thread, pthread_self()) != 0 else {
            return Findings.add("on another thread: \(kind.title) of producer \(producer) on \(name)")
        }
        if isDetached, kind != .callback {
            Findings.add("called while detached: \(kind.title) of producer \(producer) on \(name)")
        }
        if !isEnding, let modes = kind.modes, let mode = loop.currentMode, !modes.contains(mode) {
            Findings.add("called in mode \(mode): \(kind.title) of producer \(producer) on \(name)")
        }
        let now = nanoseconds()
        var gap = now - max(since, last[kind.rawValue])
        last[kind.rawValue] = now
        if gap > Settings.longestGap { gap -= Stalls.time(from: now - gap, to: now) }
        Census.shared.note(gap: gap, of: kind)
        if gap > Settings.longestGap {
            Findings.add(
                "starved: \(gap / 1_000_000) ms without a \(kind.title), of producer \(producer), on \(name)"
            )
        }
        if count & 63 == 0 { LockProbe.check(self, "a \(kind.title) of producer \(producer)") }
    }

    /// Counts a run or an iteration that a callout makes. `inBlock` is true if that callout is a block.
    func nest<Result>(inBlock: Bool, _ body: () -> Result) -> Result {
        nesting += 1
        if inBlock { blockDepth += 1 }
        defer {
            nesting -= 1
            if inBlock { blockDepth -= 1 }
        }
        return body()
    }

    // MARK: From other threads

    /// Waits until the loop has called a new perform. The caller must hold the loop.
    func barrier() {
        let isDone = Counted()
        do {
            // performAndWait() has no time limit.
            try loop.performOnThread { isDone.add() }
        } catch {
            return Findings.add("refused: a perform on \(name), whose thread has not ended")
        }
        waitFor("a perform on \(name)", on: self) { isDone.value > 0 }
    }

    // MARK: At the end, on the loop's thread

    func prepareEnd() {
        isEnding = true
        for lane in allLanes { lane.require() }
    }

    var hasDelivered: Bool { allLanes.allSatisfy(\.hasRequired) }
}
