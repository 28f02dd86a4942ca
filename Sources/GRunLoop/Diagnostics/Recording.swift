// SPDX-License-Identifier: Apache-2.0
// A recording of all loops of the process, for a timeline.

import CGRun
import Glibc
import Synchronization

/// From its start on each loop that does something has a recorder in it, made on the loop's own thread.
final class Recording: CallCounter, @unchecked Sendable {
    private static let lock = Lock.take()
    /// The one that is under way. Guarded by `lock`.
    nonisolated(unsafe) private static var current: Recording?
    /// Its number; 0 for none. Loops compare it with their recorder's.
    private static let currentNumber = Atomic<UInt64>(0)
    /// Guarded by `lock`.
    nonisolated(unsafe) private static var lastNumber: UInt64 = 0

    /// How many loops that have ended are kept.
    private static let mostEnded = 100

    /// How many records of a loop are kept, a power of two.
    let limit: UInt32
    /// When it was first started, on both clocks; nil before. Guarded by `Recording.lock`.
    private var firstStart: (time: Nanoseconds, clock: timespec)?
    /// When it was stopped. Guarded by `Recording.lock`.
    private var lastStop: Nanoseconds = 0
    private let lock = Lock.take()
    /// 0: it was never started. Guarded by `Recording.lock`.
    private var number: UInt64 = 0
    /// In the order of their beginning. Guarded by the lock.
    private var recorders: [Recorder] = []
    private var droppedCount = 0

    init(limit: UInt32) { self.limit = limit }

    deinit { Lock.giveBack(lock) }

    static var isUnderWay: Bool { number != 0 }

    /// The number of the one that is under way, 0 for none.
    static var number: UInt64 { currentNumber.load(ordering: .relaxed) }

    /// Ends another one that is under way.
    func start() {
        let former = Self.lock.withLock { () -> Recording? in
            guard Self.current !== self else { return nil }
            let former = Self.current
            former?.endAll()
            if former == nil { Self.count(1) }
            if firstStart == nil {
                var clock = timespec()
                clock_gettime(CLOCK_REALTIME, &clock)
                firstStart = (.now(), clock)
            }
            Self.lastNumber += 1
            number = Self.lastNumber
            Self.current = self
            Self.currentNumber.store(number, ordering: .relaxed)
            CallCounts.count(by: self)
            return former
        }
        withExtendedLifetime(former) {}
    }

    /// Nothing, if it is not under way.
    func stop() {
        let former = Self.lock.withLock { () -> Recording? in
            guard Self.current === self else { return nil }
            Self.count(-1)
            endAll()
            Self.currentNumber.store(0, ordering: .relaxed)
            CallCounts.count(by: nil)
            return Self.current.take()
        }
        withExtendedLifetime(former) {}
    }

    /// With `Recording.lock` held: what its loops do from here on is not in it.
    private func endAll() {
        lastStop = .now()
        for recorder in content.recorders { recorder.end(at: lastStop) }
    }

    var isUnderWay: Bool { Self.lock.withLock { Self.current === self } }

    /// When it began and, at `now`, how far it reaches.
    func times(at now: Nanoseconds) -> (began: Nanoseconds, clock: timespec, end: Nanoseconds) {
        Self.lock.withLock {
            guard let firstStart else { return (now, timespec(), now) }
            return (firstStart.time, firstStart.clock, Self.current === self ? now : lastStop)
        }
    }

    /// A recorder of a loop, in the recording that is under way; nil if there is none.
    static func makeRecorder(of loop: GRunLoop) -> Recorder? {
        let known = lock.withLock { current.map { ($0, $0.number) } }
        guard let (recording, number) = known else { return nil }
        guard let recorder = Recorder(of: loop, number: number, limit: recording.limit) else { return nil }
        recording.add(recorder)
        return recorder
    }

    private func add(_ recorder: Recorder) {
        // Released after the lock.
        _ = lock.withLock { () -> Recorder? in
            recorders.append(recorder)
            let ended = recorders.lazy.filter(\.hasEnded).count
            guard ended > Self.mostEnded, let first = recorders.firstIndex(where: \.hasEnded) else { return nil }
            droppedCount += 1
            return recorders.remove(at: first)
        }
    }

    /// What was recorded: of each loop, and how many there were that are not kept.
    var content: (recorders: [Recorder], droppedCount: Int) {
        lock.withLock { (recorders.map(\.self), droppedCount) }
    }

    func counts(of item: ObjectIdentifier) -> cgrun_counts? {
        // It may be called by several loops.
        let all = content.recorders.map { $0.counts(of: item) }.filter { $0.calls > 0 }
        guard var sum = all.first else { return nil }
        for counts in all.dropFirst() {
            sum.calls += counts.calls
            sum.total += counts.total
            sum.longest = max(sum.longest, counts.longest)
            sum.latest = max(sum.latest, counts.latest)
        }
        return sum
    }

    /// How many there are to whom a loop that does something matters.
    static func count(_ change: Int32) {
        cgrun_count_tracing(change)
        cgrun_count_inspecting(change)
    }
}
