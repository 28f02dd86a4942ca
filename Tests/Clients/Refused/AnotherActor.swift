// SPDX-License-Identifier: Apache-2.0
// The closure of an actor's is not for another one.
import GRunLoop

final class Model {
    var count = 0
}

func start(_ here: isolated GRunLoop.Isolation, _ there: GRunLoop.Isolation) {
    let model = Model()
    _ = GRunLoop.Timer(fireAt: .now, isolation: there) { _ in model.count += 1 }  // error: isolated
}
