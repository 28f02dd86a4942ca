// SPDX-License-Identifier: Apache-2.0
// Stall monitors for C, where a number stands for one.

/// The monitors of those who keep a number. Each keeps itself until it ends.
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
        // Some may be looked at when they go: after the lock, since what is the program's goes with them.
        let (id, seen) = lock.withLock { () -> (UInt64, [GRunLoop.StallMonitor]) in
            var seen: [GRunLoop.StallMonitor] = []
            // Those that have ended with their loops are forgotten.
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
