// SPDX-License-Identifier: Apache-2.0
// The frames through which user code is called, so that a backtrace or a profile reads as an explanation. No closure of a
// user is called from anywhere else; none of these is ever called with a lock held.
//
// Do not rename or inline them: debuggers and profilers know them by name. A closure that may have no other owner is taken inout and
// released in here, so that the deinit of what it captured runs without a lock as well (item 177).

import CGRun

@inline(never) func callOutToObserver(
    _ handler: @Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void, _ observer: GRunLoop.Observer,
    _ activity: GRunLoop.Activity
) {
    handler(observer, activity)
    cgrun_keep_frame()
}

@inline(never) func callOutToBlock(_ block: inout (@Sendable () -> Void)?) {
    block?()
    block = nil
    cgrun_keep_frame()
}

@inline(never) func callOutToSource(_ perform: @Sendable () -> Void) {
    perform()
    cgrun_keep_frame()
}

@inline(never) func callOutToDescriptorSource(
    _ handler: @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void,
    _ source: GRunLoop.DescriptorSource, _ ready: GRunLoop.DescriptorSource.Conditions
) {
    handler(source, ready)
    cgrun_keep_frame()
}

@inline(never) func callOutToTimer(_ handler: inout (@Sendable (GRunLoop.Timer) -> Void)?, _ timer: GRunLoop.Timer) {
    handler?(timer)
    handler = nil
    cgrun_keep_frame()
}

@inline(never) func callOutToContext(_ served: ServedContext) {
    Contexts.dispatch(served.context)
    cgrun_keep_frame()
}

@inline(never) func serviceMainDispatchQueue() {
    MainQueue.drain()
    cgrun_keep_frame()
}

/// The frame in which a loop sleeps.
@inline(never) func waitForEvents(
    _ poller: ContextPoller, _ contexts: [ServedContext], own: (Int32, Int32), deadline: Nanoseconds
) -> PollResult {
    defer { cgrun_keep_frame() }
    return poller.poll(contexts, own: own, deadline: deadline)
}
