// SPDX-License-Identifier: Apache-2.0
// A caller outside an actor does not run on the actor.
import GRunLoop

actor Resident {
    var count = 0

    nonisolated func start() {
        _ = GRunLoop.Timer(fireAt: .now, isolation: self) { _ in print("tick") }  // error: isolated
    }
}
