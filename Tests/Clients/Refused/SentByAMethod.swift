// SPDX-License-Identifier: Apache-2.0
// As in SentAfterwards.swift, but a method of the model makes the item.
import GRunLoop

final class Model {
    var count = 0

    func start(isolation: isolated any Actor) {
        _ = GRunLoop.Observer(activities: .all, isolation: isolation) { _, _ in self.count += 1 }
    }
}

func start() throws {
    _ = try GRunLoop.Thread { here in
        let model = Model()
        model.start(isolation: here)
        Task.detached { model.count += 1 }  // error: risks causing data races
    }
}
