// SPDX-License-Identifier: Apache-2.0
// The loop's thread releases a perform's target, so no other thread may use the target as well.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    GRunLoop.current.perform(after: .zero, target: model) {}  // error: Sendable
    Task.detached { model.count += 1 }
}
