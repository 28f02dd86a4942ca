// SPDX-License-Identifier: Apache-2.0
// Checks whether the main actor of this test process is on the main thread.

import Foundation
import GRunLoop

/// Returns why `GRunLoop.main` does not run while tests await; nil if it runs. Call this function on the main actor.
@MainActor func reasonAgainstMainThread() -> String? {
    guard Start.isDone else { return "GRUN_TESTING=0 is set, so GRunLoop.main does not run while tests await" }
    if Thread.isMainThread { return nil }
    return "the main actor of this test process is not on the main thread, and GRunLoop.main does not run: this Swift "
        + "runtime has no hook for the main thread of an async main(), or another library has replaced the hook"
}
