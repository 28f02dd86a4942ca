// SPDX-License-Identifier: Apache-2.0
// An object made outside an actor belongs to the actor once an item on that actor captures it.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    GRunLoop.current.isolation.assumeIsolated { here in
        _ = GRunLoop.Source(isolation: here) { model.count += 1 }  // error: risks causing data races
    }
    Task.detached { model.count += 1 }
}
