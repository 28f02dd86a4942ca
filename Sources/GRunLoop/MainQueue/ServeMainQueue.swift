// SPDX-License-Identifier: Apache-2.0
// The function by which other libraries find out that the main loop serves the main queue.

import CGRun

/// The C function `grun_serve_main_queue()` of `<grun/grun-loop.h>`. It is in this target, and not in `GRunLoopC`, so
/// that programs in Swift contain the function, too. `@usableFromInline` makes a shared library export the function.
@usableFromInline
@_cdecl("grun_serve_main_queue")
func serveMainQueue() -> CInt {
    guard !Fork.refuses("grun_serve_main_queue") else { return 0 }
    guard OneCopy.other == nil else { return MainQueue.isGivenAway ? 0 : 1 }
    _ = GRunLoop.main
    return MainQueue.isOurs ? 1 : 0
}
