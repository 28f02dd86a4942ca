// SPDX-License-Identifier: Apache-2.0
// The stall monitors of the C interface. C code refers to each monitor by a number.

import GRunLoop

/// Finds a stall monitor by its number. This table does not own the monitors: each monitor keeps itself alive until it
/// ends.
enum NumberedStallMonitors {
    private struct Entry {
        weak var monitor: GRunLoop.StallMonitor?
        let loop: ObjectIdentifier
    }

    private static let lock = Lock.take()
    // Guarded by the lock.
    nonisolated(unsafe) private static var last: UInt64 = 0
    nonisolated(unsafe) private static var known: [UInt64: Entry] = [:]

    static func add(_ monitor: GRunLoop.StallMonitor, of loop: GRunLoop) -> UInt64 {
        // Release the monitors in `seen` after the lock. This thread may own the last reference to one of these
        // monitors, and releasing a monitor also releases the program's handler.
        let (id, seen) = lock.withLock { () -> (UInt64, [GRunLoop.StallMonitor]) in
            var seen: [GRunLoop.StallMonitor] = []
            // Remove the monitors that ended because their loops ended.
            for (id, entry) in known {
                if let monitor = entry.monitor { seen.append(monitor) } else { known[id] = nil }
            }
            last += 1
            known[last] = Entry(monitor: monitor, loop: ObjectIdentifier(loop))
            return (last, seen)
        }
        monitor.keepUntilItEnds()
        return withExtendedLifetime(seen) { id }
    }

    static func take(_ id: UInt64, of loop: GRunLoop) -> GRunLoop.StallMonitor? {
        lock.withLock {
            guard known[id]?.loop == ObjectIdentifier(loop) else { return nil }
            return known.removeValue(forKey: id)?.monitor
        }
    }
}
