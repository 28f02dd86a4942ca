// SPDX-License-Identifier: Apache-2.0
// A host: whoever iterates a context without knowing of run loops.

import CGLib
import GRunLoop
import Glibc

/// Iterates a context, GLib's default one if nil, sleeping in it, until a condition holds.
public func iterateHost(_ context: OpaquePointer? = nil, until condition: () -> Bool) {
    while !condition() { g_main_context_iteration(context, 1) }
}

/// Iterates GLib's default context for a time. A timeout of the host's ends its last sleep.
public func iterateHost(for span: Duration) {
    let end = GRunLoop.now.advanced(by: span)
    let timeout = GLibSource.timeout(nil, milliseconds: 20) { true }
    iterateHost { GRunLoop.now >= end }
    timeout.destroy()
}

/// Iterates a context until nothing in it is ready; answers how many iterations found something.
@discardableResult public func settleHost(_ context: OpaquePointer? = nil, atMost limit: Int = 10_000) -> Int {
    var count = 0
    while count < limit, iterateUndisturbed(context) { count += 1 }
    return count
}

/// An iteration that may not sleep. Whether the host has slept can only be told from the clock (hub.c): to the loop, a
/// host that loses the processor in such an iteration's poll has slept, so that `afterWaiting` and another pass follow.
private func iterateUndisturbed(_ context: OpaquePointer?) -> Bool {
    let (wall, onProcessor) = (GRunLoop.now, processorTime())
    defer {
        let took = wall.duration(to: GRunLoop.now)
        // The second: the processor itself may be a machine's guest.
        if took - (processorTime() - onProcessor) >= .microseconds(15) || took >= .milliseconds(1) {
            hostDisturbances.increment()
        }
    }
    return g_main_context_iteration(context, 0) != 0
}

/// How often an iteration of `settleHost` took longer than what it did.
public let hostDisturbances = Counter()

/// What the calling thread has had of a processor.
private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Calls `body` in a callback of the host's, in an iteration of the default context.
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
