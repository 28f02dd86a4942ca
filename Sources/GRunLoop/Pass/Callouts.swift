// SPDX-License-Identifier: Apache-2.0
// The frames through which user code is called, so that a backtrace or a profile reads as an explanation. No closure of
// a user is called from anywhere else; none of these is ever called with a lock held.
//
// Do not rename or inline them: debuggers and profilers know them by name. A closure that may have no other owner is
// taken inout and released in here, so that the deinit of what it captured runs without a lock as well (item 177).

import CGRun

@inline(never) func callOutToObserver(
    _ handler: inout (@Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void)?, _ observer: GRunLoop.Observer,
    _ activity: GRunLoop.Activity, of loop: GRunLoop
) {
    loop.trace(.observer(observer), activity)
    handler?(observer, activity)
    handler = nil
    cgrun_keep_frame()
}

@inline(never) func callOutToBlock(_ block: inout (@Sendable () -> Void)?, of loop: GRunLoop) {
    loop.trace(.block)
    if let body = block.take() { body() }
    cgrun_keep_frame()
}

/// Calls an end handler, on the ending thread.
@inline(never) func callOutToEndHandler(_ handler: inout (@Sendable () -> Void)?) {
    if let body = handler.take() { body() }
    cgrun_keep_frame()
}

@inline(never) func callOutToSource(_ source: GRunLoop.Source, of loop: GRunLoop) {
    loop.trace(.source(source))
    source.perform()
    cgrun_keep_frame()
}

@inline(never) func callOutToDescriptorSource(
    _ source: GRunLoop.DescriptorSource, _ ready: GRunLoop.DescriptorSource.Conditions, of loop: GRunLoop
) {
    loop.trace(.descriptor(source))
    source.handler(source, ready)
    cgrun_keep_frame()
}

/// `loop` is nil in a timer that is fired by hand.
@inline(never) func callOutToTimer(
    _ handler: inout (@Sendable (GRunLoop.Timer) -> Void)?, _ timer: GRunLoop.Timer, of loop: GRunLoop?
) {
    loop?.trace(.timer(timer))
    handler?(timer)
    handler = nil
    cgrun_keep_frame()
}

@inline(never) func callOutToContext(_ served: ServedContext, of loop: GRunLoop) {
    loop.trace(.context)
    Contexts.dispatch(served.context)
    cgrun_keep_frame()
}

/// The frame of a sleeping loop.
@inline(never) func waitForEvents(
    _ poller: ContextPoller, _ contexts: [ServedContext], own: OwnDescriptors, deadline: Nanoseconds
) -> PollResult {
    defer { cgrun_keep_frame() }
    return poller.poll(contexts, own: own, deadline: deadline)
}
