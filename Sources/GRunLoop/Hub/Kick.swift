// SPDX-License-Identifier: Apache-2.0
// What wakes a thread that sleeps in poll().

import CGLib
import CGRun

/// What ends a sleep.
enum Waker {
    /// A context in the poll set.
    case context(OpaquePointer)
    /// The loop's own eventfd.
    case descriptor(Int32)
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
