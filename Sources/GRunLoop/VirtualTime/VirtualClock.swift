// SPDX-License-Identifier: Apache-2.0
// Virtual time: the clock of a loop.

import Synchronization

/// The clock of a loop in virtual time. The loop's thread moves the clock, and other threads may read it.
final class VirtualClock: Sendable {
    private static let count = Atomic(0)

    /// Whether any loop of the process has a virtual clock.
    static var isInUse: Bool { count.load(ordering: .relaxed) > 0 }

    /// The clock of the main loop, for a test that awaits (`GRunLoopTesting`). The object is never released, because
    /// any thread may read the time of the main loop.
    static let ofMainLoop = VirtualClock(at: 0, hiding: nil, standsStill: true)

    private let reading: Atomic<Nanoseconds>
    /// Whether the clock stands still while the loop sleeps in its outermost run, or in a nested run without a limit.
    /// During such a sleep, only the test moves the clock. In a nested run with a limit, the clock jumps ahead instead
    /// of a sleep.
    let standsStill: Bool
    /// The thread's current loop before virtual time; nil if there was none. The thread retains it.
    private let former: Unmanaged<GRunLoop>?

    /// The loop that virtual time hides. Read this property on the loop's thread only, while virtual time lasts.
    var hidden: GRunLoop? { former?.takeUnretainedValue() }

    private init(at start: Nanoseconds, hiding former: GRunLoop?, standsStill: Bool) {
        self.former = former.map(Unmanaged.passUnretained)
        self.standsStill = standsStill
        reading = Atomic(Self.limited(start))
    }

    /// Makes the clock of a new loop, which counts as in use until it is released.
    convenience init(at start: Nanoseconds, hiding former: GRunLoop?) {
        self.init(at: start, hiding: former, standsStill: false)
        Self.count.add(1, ordering: .relaxed)
    }

    deinit {
        Self.count.subtract(1, ordering: .relaxed)
    }

    /// Sets the clock of the main loop, which a test begins to use.
    func begin(at start: Nanoseconds) {
        reading.store(Self.limited(start), ordering: .relaxed)
        Self.count.add(1, ordering: .relaxed)
    }

    /// Ends the use of the main loop's clock.
    func end() { Self.count.subtract(1, ordering: .relaxed) }

    var now: Nanoseconds { reading.load(ordering: .relaxed) }

    /// See ``GRunLoop/clockStands(in:)``.
    func stands(in frame: Frame) -> Bool {
        standsStill && (frame.isOutermost || !frame.run.hasLimit && frame.nextAncestorDeadline == .never)
    }

    /// Moves the clock forward; an earlier time is ignored. Call this function on the loop's thread only.
    func move(to time: Nanoseconds) {
        if time > now { reading.store(Self.limited(time), ordering: .relaxed) }
    }

    /// Limits a reading to the range from 0 to `last`. If the clock read `never`, items without a date would be due.
    static func limited(_ time: Nanoseconds) -> Nanoseconds {
        min(max(0, time), .last)
    }
}
