// SPDX-License-Identifier: Apache-2.0
// A clock that a test moves.

import Synchronization

/// The clock of virtual time. Other threads read it, too.
final class VirtualClock: Sendable {
    private static let count = Atomic(0)

    /// Whether any loop of the process has a virtual clock.
    static var isInUse: Bool { count.load(ordering: .relaxed) > 0 }

    private let reading: Atomic<Nanoseconds>
    /// The thread's loop outside virtual time, which the thread keeps.
    private let former: Unmanaged<GRunLoop>?

    /// The loop's thread only, and only while virtual time lasts.
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

    /// Moves the clock, never back. The loop's thread only.
    func move(to time: Nanoseconds) {
        if time > now { reading.store(Self.limited(time), ordering: .relaxed) }
    }

    /// The clock never reads `never`: items without a date would be due.
    static func limited(_ time: Nanoseconds) -> Nanoseconds {
        min(max(0, time), .last)
    }
}
