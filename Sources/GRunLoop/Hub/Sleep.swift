// SPDX-License-Identifier: Apache-2.0
// A sleep of the thread in poll(), and what ends it: decided under the lock, sent after it, at most once a sleep.

import CGLib
import CGRun

/// What ends a sleep.
enum Waker {
    /// A context in the poll set.
    case context(OpaquePointer)
    /// The loop's own eventfd.
    case descriptor(Int32)
}

/// Guarded by the loop's lock.
struct Sleep {
    /// What ends the sleep that is under way, or about to begin: a change that concerns it has to.
    private var waker: Waker?
    /// This sleep was already woken.
    private var isKicked = false
    /// The mode of the sleep. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    private(set) var watchesDescriptors = false

    mutating func begin(
        in mode: AnyObject, wokenBy waker: Waker, until: Nanoseconds, watchesDescriptors: Bool
    ) {
        isKicked = false
        self.mode = ObjectIdentifier(mode)
        self.waker = waker
        self.until = until
        self.watchesDescriptors = watchesDescriptors
    }

    mutating func end() {
        mode = nil
        waker = nil
    }

    /// The thread is in poll(), or about to be.
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: AnyObject) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Whether this sleep was woken, or the one before if that was not asked yet. Asking clears it.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        return Kick(waker, of: loop)
    }
}

/// A wake-up for a thread that sleeps in poll(). Sent after the lock is released, since the woken thread takes it. Must
/// be sent exactly once: no other call wakes the same sleep.
struct Kick: ~Copyable {
    private let waker: Waker
    /// Retained if its descriptor is to be written to: the loop closes that in its deinit.
    private let loop: Unmanaged<GRunLoop>

    init(_ waker: Waker, of loop: GRunLoop) {
        self.waker = waker
        self.loop = .passUnretained(loop)
        switch waker {
        case .context(let context): g_main_context_ref(context)
        case .descriptor: _ = self.loop.retain()
        }
    }

    consuming func send() {
        switch waker {
        case .context(let context):
            g_main_context_wakeup(context)
            g_main_context_unref(context)
        case .descriptor(let descriptor):
            cgrun_event_signal(descriptor)
            loop.release()
        }
        discard self
    }

    deinit {
        Self.refuseToBeLost()
    }

    private static func refuseToBeLost() {
        fatalError("GRunLoop: a loop was to be woken, and nobody has done it")
    }
}

extension Optional where Wrapped: ~Copyable, Wrapped == Kick {
    /// One hold of the lock decides on one wake-up at most.
    mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}
