// SPDX-License-Identifier: Apache-2.0
// A plain class does not know whose it is: its method cannot give it to the main actor.
import GRunLoop

final class Model {
    var count = 0

    func start() {
        GRunLoop.asyncOnMain { self.count += 1 }  // error: 'self'
    }
}
