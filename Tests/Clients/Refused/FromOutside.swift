// SPDX-License-Identifier: Apache-2.0
// Who calls a function of an actor's from outside is not on it.
import GRunLoop

actor Resident {
    var count = 0

    nonisolated func start() {
        _ = GRunLoop.Timer(fireAt: .now, isolation: self) { _ in print("tick") }  // error: isolated
    }
}
