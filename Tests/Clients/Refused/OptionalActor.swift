// SPDX-License-Identifier: Apache-2.0
// An optional isolation may be nil, so it does not isolate the closure.
import GRunLoop

final class Model {
    var count = 0

    func start(isolation: isolated (any Actor)? = #isolation) {
        guard let isolation else { return }
        _ = GRunLoop.Source(isolation: isolation) { self.count += 1 }  // error: isolated
    }
}
