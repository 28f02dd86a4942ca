// SPDX-License-Identifier: Apache-2.0
// What an actor holds, and an item of its own as well, stays in it.
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
