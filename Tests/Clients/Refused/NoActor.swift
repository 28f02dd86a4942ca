// SPDX-License-Identifier: Apache-2.0
// Without an actor there is no isolation to give.
import GRunLoop

final class Model {
    var count = 0

    func start() {
        _ = GRunLoop.Timer(fireAt: .now, isolation: #isolation) { _ in self.count += 1 }  // error: isolated
    }
}
