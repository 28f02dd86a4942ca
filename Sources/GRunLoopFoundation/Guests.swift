// SPDX-License-Identifier: Apache-2.0
// The table of Foundation's run loops that are served. Calls of Core Foundation from anywhere in the process look here.

import CGRunFoundation
import GRunLoop
import Synchronization

enum Guests {
    /// The guests by the address of Core Foundation's loop.
    private static let table = Guarded<[UInt: Guest]>([:])
    /// How many objects were loaded at the last complete search. Objects that are loaded later are searched now and
    /// then.
    private static let loaded = Atomic<UInt64>(0)
    /// The number of guests. It is read before the lock is taken: a child of a fork may find the table locked, and a
    /// program that has ended serving does not need the lock.
    private static let count = Atomic(0)

    /// The guest of a loop of Core Foundation; nil if that loop is not served. Any thread.
    static func guest(of loop: UnsafeMutableRawPointer?) -> Guest? {
        guard let loop, count.load(ordering: .relaxed) > 0, !Fork.isChild else { return nil }
        let key = UInt(bitPattern: loop)
        return table.withLock { $0[key] }
    }

    /// The guest whose loop is the calling thread's.
    private static func guestHere() -> Guest? {
        guard count.load(ordering: .relaxed) > 0, !Fork.isChild else { return nil }
        return table.withLock { $0.values.first { $0.loop.isCurrent } }
    }

    /// Adds a guest. The first guest replaces Core Foundation's functions, so that calls are noticed. Returns false if
    /// that is impossible; then nothing has changed.
    static func add(_ guest: Guest) -> Bool {
        table.withLock {
            if $0.isEmpty {
                var notices = cgrun_notices(
                    noticed: { loop, kind, mode in
                        let guest = kind == CGRUN_NOTICE_SIGNAL ? Guests.guestHere() : Guests.guest(of: loop)
                        guest?.noticed(kind, mode)
                    },
                    // Serving may end during the run, and `left` must be called all the same. So the guest is retained.
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
                // Slots that another thread was resolving meanwhile are searched once more.
                loaded.store(0, ordering: .relaxed)
            }
            $0[guest.key] = guest
            count.store($0.count, ordering: .relaxed)
            return true
        }
    }

    /// Replaces the functions in objects that were loaded meanwhile. Any thread that holds no lock of the dynamic
    /// linker.
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
