// SPDX-License-Identifier: Apache-2.0
// What a closure of the main actor has captured on another thread is the main actor's.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    _ = GRunLoop.Timer(fireAt: .now) { @MainActor _ in model.count += 1 }  // error: 'model'
    model.count += 1
}
