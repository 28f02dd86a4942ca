// SPDX-License-Identifier: Apache-2.0
// An actor's state cannot be returned from the actor either.
import GRunLoop

final class Model {
    var count = 0
}

func make(_ here: isolated GRunLoop.Isolation) -> sending Model {
    let model = Model()
    _ = GRunLoop.Source(isolation: here) { model.count += 1 }
    return model  // error: risks causing data races
}
