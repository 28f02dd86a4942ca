// SPDX-License-Identifier: Apache-2.0
// A closure of the main actor is made on another thread. The main actor owns its captures.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    _ = GRunLoop.Timer(fireAt: .now) { @MainActor _ in model.count += 1 }  // error: 'model'
    model.count += 1
}
