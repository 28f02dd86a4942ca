// SPDX-License-Identifier: Apache-2.0
// An actor owns what its closure has captured, so no other thread can get it afterwards.
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
