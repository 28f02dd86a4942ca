// SPDX-License-Identifier: Apache-2.0
// The table of the served run loops of Foundation. Our replacements of Core Foundation's functions use this table to
// find the guest of a loop.

import CGRunFoundation
import GRunLoop
import Synchronization

enum Guests {
    /// The guests by the address of Core Foundation's loop.
    private static let table = Guarded<[UInt: Guest]>([:])
    /// The number from `cgrun_slots_loaded()` when the functions were last replaced in all objects. If that number is
    /// different now, objects were loaded since then.
    private static let loaded = Atomic<UInt64>(0)
    /// The number of guests. While this number is zero, a call of Core Foundation does not take the table's lock.
    private static let count = Atomic(0)

    /// Returns the guest of a loop of Core Foundation; nil if that loop is not served. Threads: any.
    static func guest(of loop: UnsafeMutableRawPointer?) -> Guest? {
        guard let loop, count.load(ordering: .relaxed) > 0, !Fork.isChild else { return nil }
        let key = UInt(bitPattern: loop)
        return table.withLock { $0[key] }
    }

    private static func guestHere() -> Guest? {
        guard count.load(ordering: .relaxed) > 0, !Fork.isChild else { return nil }
        return table.withLock { $0.values.first { $0.loop.isCurrent } }
    }

    /// Adds a guest. For the first guest, replaces Core Foundation's functions, so that their calls are noticed. If the
    /// functions cannot be replaced, returns false and changes nothing.
    static func add(_ guest: Guest) -> Bool {
        table.withLock {
            if $0.isEmpty {
                var notices = cgrun_notices(
                    noticed: { loop, kind, mode in
                        let guest = kind == CGRUN_NOTICE_SIGNAL ? Guests.guestHere() : Guests.guest(of: loop)
                        guest?.noticed(kind, mode)
                    },
                    // Retain the guest, because `left` must be called even if serving ends during the run.
                    entered: { loop, mode, seconds in
                        guard let guest = Guests.guest(of: loop), guest.entered(mode, for: seconds) else { return nil }
                        return Unmanaged.passRetained(guest).toOpaque()
                    },
                    left: { if let guest = $0 { Unmanaged<Guest>.fromOpaque(guest).takeRetainedValue().left() } },
                    stop: { loop in
                        if let guest = Guests.guest(of: loop) { guest.stop() } else { cgrun_guest_stop(loop) }
                    },
                    is_waiting: { Guests.guest(of: $0)?.isWaiting == true || cgrun_guest_is_waiting($0) },
                    drain: {
                        if Fork.isChild { return cgrun_guest_drain() }
                        GRunLoop.drainMainQueue(by: cgrun_guest_drain)
                    })
                guard cgrun_notices_begin(&notices) else { return false }
                // Make the next `lookForObjects()` search all objects again, because another thread may have been
                // resolving a slot.
                loaded.store(0, ordering: .relaxed)
            }
            $0[guest.key] = guest
            count.store($0.count, ordering: .relaxed)
            return true
        }
    }

    /// Replaces Core Foundation's functions in objects that were loaded since the last call. Threads: any thread that
    /// does not hold the dynamic linker's lock.
    static func lookForObjects() {
        let now = cgrun_slots_loaded()
        guard loaded.load(ordering: .relaxed) != now else { return }
        if table.withLock({ $0.isEmpty || cgrun_notices_renew() }) { loaded.store(now, ordering: .relaxed) }
    }

    static func remove(_ guest: Guest) {
        table.withLock {
            guard $0.removeValue(forKey: guest.key) != nil else { return }
            count.store($0.count, ordering: .relaxed)
            if $0.isEmpty { cgrun_notices_end() }
        }
    }
}

extension Guest {
    fileprivate var key: UInt { UInt(bitPattern: address) }
}
