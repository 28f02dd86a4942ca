// SPDX-License-Identifier: Apache-2.0
// A plain class is not bound to an actor, so its method cannot pass `self` to the main actor.
import GRunLoop

final class Model {
    var count = 0

    func start() {
        GRunLoop.asyncOnMain { self.count += 1 }  // error: 'self'
    }
}
