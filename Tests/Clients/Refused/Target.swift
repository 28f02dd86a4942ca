// SPDX-License-Identifier: Apache-2.0
// What a perform is found by is let go on the loop's thread, and is no other thread's as well.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    GRunLoop.current.perform(after: .zero, target: model) {}  // error: Sendable
    Task.detached { model.count += 1 }
}
