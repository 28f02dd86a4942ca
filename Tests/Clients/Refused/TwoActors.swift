// SPDX-License-Identifier: Apache-2.0
// A closure that was given to one actor cannot be given to a second actor.
import GRunLoop

final class Model {
    var count = 0
}

func start(_ first: GRunLoop.Isolation, _ second: GRunLoop.Isolation) async {
    let model = Model()
    _ = await GRunLoop.Source(isolation: first) { model.count += 1 }  // error: risks causing data races
    _ = await GRunLoop.Source(isolation: second) { model.count += 1 }
}
