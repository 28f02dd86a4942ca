// SPDX-License-Identifier: Apache-2.0
// A block of the main actor that another thread enqueues: its captures are the main actor's.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    GRunLoop.main.async { @MainActor in model.count += 1 }  // error: 'model'
    model.count += 1
}
