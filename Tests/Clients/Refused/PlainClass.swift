// SPDX-License-Identifier: Apache-2.0
// A plain class is on no actor, so its creator may pass it to another thread.
import GRunLoop

final class Model {
    var count = 0

    func start() {
        GRunLoop.current.add(
            GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in self.count += 1 },  // error: Sendable
            forMode: .default)
    }
}
