// SPDX-License-Identifier: Apache-2.0
// A plain class that is on no actor: whoever made it may give it to another thread.
import GRunLoop

final class Model {
    var count = 0

    func start() {
        GRunLoop.current.add(
            GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in self.count += 1 },  // error: Sendable
            forMode: .default)
    }
}
