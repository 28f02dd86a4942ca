// SPDX-License-Identifier: Apache-2.0
// A host: code that iterates a context and knows nothing of run loops.

import CGRunGLib
import GRunLoop
import Glibc

/// Iterates a context until a condition holds, and sleeps in it. Nil means GLib's default context.
public func iterateHost(_ context: OpaquePointer? = nil, until condition: () -> Bool) {
    while !condition() { g_main_context_iteration(context, 1) }
}

/// Iterates GLib's default context for a time. A timeout of the host ends the last sleep.
public func iterateHost(for span: Duration) {
    let end = GRunLoop.now.advanced(by: span)
    let timeout = GLibSource.timeout(nil, milliseconds: 20) { true }
    iterateHost { GRunLoop.now >= end }
    timeout.destroy()
}

/// Iterates a context until nothing in it is ready. Returns how many iterations found something.
///
/// These iterations may not sleep, but only the clock tells whether the host has slept (hub.c). If the host's thread
/// loses the processor in a poll, the loop takes that for a sleep, so `afterWaiting` and another pass follow.
/// ``hostDisturbances`` counts these cases.
@discardableResult public func settleHost(_ context: OpaquePointer? = nil, atMost limit: Int = 10_000) -> Int {
    let clock = PollClock(context)
    var count = 0
    while count < limit, g_main_context_iteration(context, 0) != 0 { count += 1 }
    clock.end()
    return count
}

/// The number of iterations of `settleHost` that looked like a sleep.
public let hostDisturbances = Counter()

/// Measures the polls of a context as the hub does, by the context's own times before and after each poll.
private struct PollClock {
    private struct Source {
        var base = GSource()
        var begin: gint64 = .max
        /// The depth of the measured iterations. Iterations nested in a callout may sleep.
        var depth: gint = 0
    }

    nonisolated(unsafe) private static var functions = GSourceFuncs(
        prepare: { source, timeout in
            timeout?.pointee = -1
            guard let own = PollClock.own(source) else { return 0 }
            own.pointee.begin = g_main_depth() == own.pointee.depth ? g_source_get_time(source) : .max
            return 0
        },
        check: { source in
            guard let own = PollClock.own(source) else { return 0 }
            // The hub takes this time for a sleep: SLEEP_MICROSECONDS in hub.c.
            if g_source_get_time(source) - own.pointee.begin >= 20 { hostDisturbances.increment() }
            return 0
        }, dispatch: { _, _, _ in 1 }, finalize: nil, closure_callback: nil, closure_marshal: nil)

    private let source: UnsafeMutablePointer<GSource>

    init(_ context: OpaquePointer?) {
        guard let source = g_source_new(&Self.functions, guint(MemoryLayout<Source>.size)) else {
            fatalError("no memory is left")
        }
        // This source comes first, because GLib does not check the sources after a ready one.
        g_source_set_priority(source, .min)
        g_source_set_can_recurse(source, 1)
        Self.own(source)?.pointee.depth = g_main_depth()
        g_source_attach(source, context)
        self.source = source
    }

    func end() {
        g_source_destroy(source)
        g_source_unref(source)
    }

    private static func own(_ source: UnsafeMutablePointer<GSource>?) -> UnsafeMutablePointer<Source>? {
        source.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Source.self) }
    }
}

/// Calls `body` in a host callback, in an iteration of the default context.
public func inHostCallback(_ body: @escaping @Sendable () -> Void) {
    let isDone = Shared(false)
    let source = GLibSource.idle(nil) {
        body()
        isDone.value = true
        return false
    }
    iterateHost { isDone.value }
    source.destroy()
}
