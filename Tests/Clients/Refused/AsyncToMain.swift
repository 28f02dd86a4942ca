// SPDX-License-Identifier: Apache-2.0
// Another thread enqueues a block of the main actor. The main actor owns the block's captures.
import GRunLoop

final class Model {
    var count = 0
}

func start() {
    let model = Model()
    GRunLoop.main.async { @MainActor in model.count += 1 }  // error: 'model'
    model.count += 1
}
