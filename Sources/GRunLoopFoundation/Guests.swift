// SPDX-License-Identifier: Apache-2.0
// Which run loops of Foundation's are served, for whoever calls Core Foundation from wherever.

import CGRunFoundation
import GRunLoop
import Synchronization

enum Guests {
    /// By the address of Core Foundation's loop.
    private static let table = Guarded<[UInt: Guest]>([:])
    /// Objects that are loaded later are looked for now and then: this is how many there were.
    private static let loaded = Atomic<UInt64>(0)
    /// How many there are: a child of a fork may find the table locked, and a program that ended all has no need of it.
    private static let count = Atomic(0)

    /// Any thread.
    static func guest(of loop: UnsafeMutableRawPointer?) -> Guest? {
        guard let loop, count.load(ordering: .relaxed) > 0, !GRunLoop.isForkedChild else { return nil }
        let key = UInt(bitPattern: loop)
        return table.withLock { $0[key] }
    }

    /// The one whose loop is the calling thread's.
    private static func guestHere() -> Guest? {
        guard count.load(ordering: .relaxed) > 0, !GRunLoop.isForkedChild else { return nil }
        return table.withLock { $0.values.first { $0.loop.isCurrent } }
    }

    /// The first one has Core Foundation's functions noticed. False if they cannot be: nothing has changed then.
    static func add(_ guest: Guest) -> Bool {
        table.withLock {
            if $0.isEmpty {
                var notices = cgrun_notices(
                    noticed: { loop, kind, mode in
                        let guest = kind == CGRUN_NOTICE_SIGNAL ? Guests.guestHere() : Guests.guest(of: loop)
                        guest?.noticed(kind, mode)
                    },
                    // It may end in the run, and be told of the run's end all the same.
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
                        if GRunLoop.isForkedChild { return cgrun_guest_drain() }
                        GRunLoop.drainMainQueue(by: cgrun_guest_drain)
                    })
                guard cgrun_notices_begin(&notices) else { return false }
                // Slots that were being resolved meanwhile are looked at once more.
                loaded.store(0, ordering: .relaxed)
            }
            $0[guest.key] = guest
            count.store($0.count, ordering: .relaxed)
            return true
        }
    }

    /// Any thread, which holds no lock of the dynamic linker's: looks for objects that were loaded meanwhile.
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
