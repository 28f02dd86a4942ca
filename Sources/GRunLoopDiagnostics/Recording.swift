// SPDX-License-Identifier: Apache-2.0
// A recording of all loops of the process, for a timeline.

import CGRun
import GRunLoop
import Glibc
import Synchronization

/// Holds the recorders of all loops. After a recording starts, each loop's thread makes the loop's recorder when it
/// adds the loop's first record.
final class Recording: @unchecked Sendable {
    private static let lock = Lock.take()
    /// The recording that is under way. Guarded by `lock`.
    nonisolated(unsafe) private static var current: Recording?
    /// The number of the recording that is under way; 0 if there is none. A loop compares this number with its
    /// recorder's number to notice that another recording has begun.
    private static let currentNumber = Atomic<UInt64>(0)
    /// Guarded by `lock`.
    nonisolated(unsafe) private static var lastNumber: UInt64 = 0

    /// How many recorders that have ended are kept.
    private static let mostEnded = 100

    /// How many records of each loop are kept; a power of two.
    let limit: UInt32
    /// The time of the recording's first start, on the monotonic clock and in calendar time; nil before this start.
    /// Guarded by `Recording.lock`.
    private var firstStart: (time: Nanoseconds, clock: timespec)?
    /// Guarded by `Recording.lock`.
    private var lastStop: Nanoseconds = 0
    private let lock = Lock.take()
    /// The number that the recording got when it was started most recently; 0 if the recording was never started.
    /// Guarded by `Recording.lock`.
    private var number: UInt64 = 0
    /// The oldest recorder comes first. Guarded by this recording's own `lock`.
    private var recorders: [Recorder] = []
    private var droppedCount = 0

    init(limit: UInt32) { self.limit = limit }

    deinit { Lock.giveBack(lock) }

    static var isUnderWay: Bool { number != 0 }

    /// The number of the recording that is under way; 0 if there is none.
    static var number: UInt64 { currentNumber.load(ordering: .relaxed) }

    /// Starts this recording, and ends any other recording that is under way. Does nothing if this recording is under
    /// way already.
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
            ItemFacts.count { self.counts(of: $0) }
            return former
        }
        withExtendedLifetime(former) {}
    }

    /// Ends this recording. Does nothing if this recording is not under way.
    func stop() {
        let former = Self.lock.withLock { () -> Recording? in
            guard Self.current === self else { return nil }
            Self.count(-1)
            endAll()
            Self.currentNumber.store(0, ordering: .relaxed)
            ItemFacts.count(by: nil)
            return Self.current.take()
        }
        withExtendedLifetime(former) {}
    }

    /// Ends all recorders of this recording. Call this function with `Recording.lock` held.
    private func endAll() {
        lastStop = .now()
        for recorder in content.recorders { recorder.end(at: lastStop) }
    }

    var isUnderWay: Bool { Self.lock.withLock { Self.current === self } }

    /// Returns the time of the recording's first start, on the monotonic clock and in calendar time. Also returns the
    /// time at which the recording ended, or `now` if the recording is under way.
    func times(at now: Nanoseconds) -> (began: Nanoseconds, clock: timespec, end: Nanoseconds) {
        Self.lock.withLock {
            guard let firstStart else { return (now, timespec(), now) }
            return (firstStart.time, firstStart.clock, Self.current === self ? now : lastStop)
        }
    }

    /// Makes a loop's recorder for the recording that is under way. Returns nil if no recording is under way, or if
    /// there is no memory left.
    static func makeRecorder(of loop: GRunLoop) -> Recorder? {
        let known = lock.withLock { current.map { ($0, $0.number) } }
        guard let (recording, number) = known else { return nil }
        guard let recorder = Recorder(of: loop, number: number, limit: recording.limit) else { return nil }
        recording.add(recorder)
        return recorder
    }

    private func add(_ recorder: Recorder) {
        // The closure returns the removed recorder, so that the recorder is released after unlocking.
        _ = lock.withLock { () -> Recorder? in
            recorders.append(recorder)
            let ended = recorders.lazy.filter(\.hasEnded).count
            guard ended > Self.mostEnded, let first = recorders.firstIndex(where: \.hasEnded) else { return nil }
            droppedCount += 1
            return recorders.remove(at: first)
        }
    }

    var content: (recorders: [Recorder], droppedCount: Int) {
        lock.withLock { (recorders.map(\.self), droppedCount) }
    }

    func counts(of item: ObjectIdentifier) -> CallCounts {
        // Add up the counts of all recorders, because several loops may call the same item.
        var sum = CallCounts()
        for recorder in content.recorders {
            let counts = recorder.counts(of: item)
            sum.calls += counts.calls
            sum.total += counts.total
            sum.longest = max(sum.longest, counts.longest)
            sum.latest = max(sum.latest, counts.latest)
        }
        return sum
    }

    /// Adds `change` to the number of traces and recorders, which includes 1 for the recording that is under way. While
    /// this number is zero, loops record no stages or callouts.
    static func count(_ change: Int32) {
        cgrun_count_tracing(change)
        cgrun_count_inspecting(change)
    }
}
