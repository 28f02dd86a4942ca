// SPDX-License-Identifier: Apache-2.0
// An actor's state cannot leave the actor, even if one of the actor's items uses it too.
import GRunLoop

final class Model {
    var count = 0
}

actor Resident {
    private let model = Model()

    func start() {
        let model = model
        _ = GRunLoop.Source(isolation: self) { model.count += 1 }
    }

    func take() -> sending Model {
        return model  // error: risks causing data races
    }
}
