// SPDX-License-Identifier: Apache-2.0
// A closure of one actor cannot be used on another actor.
import GRunLoop

final class Model {
    var count = 0
}

func start(_ here: isolated GRunLoop.Isolation, _ there: GRunLoop.Isolation) {
    let model = Model()
    _ = GRunLoop.Timer(fireAt: .now, isolation: there) { _ in model.count += 1 }  // error: isolated
}
