// SPDX-License-Identifier: Apache-2.0
// What a closure has captured belongs to its actor, and no other thread gets it afterwards.
import GRunLoop

final class Model {
    var count = 0
}

func start() throws {
    _ = try GRunLoop.Thread { here in
        let model = Model()
        here.loop.add(GRunLoop.Timer(fireAt: .now, isolation: here) { _ in model.count += 1 }, forMode: .default)
        Task.detached { model.count += 1 }  // error: risks causing data races
    }
}
