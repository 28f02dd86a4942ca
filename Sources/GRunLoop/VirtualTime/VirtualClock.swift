// SPDX-License-Identifier: Apache-2.0
// Virtual time: the clock of a loop.

import Synchronization

/// The clock of a loop in virtual time. The loop's thread moves it, and other threads may read it.
final class VirtualClock: Sendable {
    private static let count = Atomic(0)

    /// Whether any loop of the process has a virtual clock.
    static var isInUse: Bool { count.load(ordering: .relaxed) > 0 }

    private let reading: Atomic<Nanoseconds>
    /// The thread's current loop before virtual time; nil if there was none. The thread retains it.
    private let former: Unmanaged<GRunLoop>?

    /// The loop that virtual time hides. Read it on the loop's thread only, while virtual time lasts.
    var hidden: GRunLoop? { former?.takeUnretainedValue() }

    init(at start: Nanoseconds, hiding former: GRunLoop?) {
        self.former = former.map(Unmanaged.passUnretained)
        reading = Atomic(Self.limited(start))
        Self.count.add(1, ordering: .relaxed)
    }

    deinit {
        Self.count.subtract(1, ordering: .relaxed)
    }

    var now: Nanoseconds { reading.load(ordering: .relaxed) }

    /// Moves the clock forward; an earlier time is ignored. The loop's thread only.
    func move(to time: Nanoseconds) {
        if time > now { reading.store(Self.limited(time), ordering: .relaxed) }
    }

    /// Limits a reading to the range from 0 to `last`. If the clock read `never`, items without a date would be due.
    static func limited(_ time: Nanoseconds) -> Nanoseconds {
        min(max(0, time), .last)
    }
}
