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
    while count < limit, g_main_context_iteration(context, 0) != 0 { count += 1 }
    return count
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
