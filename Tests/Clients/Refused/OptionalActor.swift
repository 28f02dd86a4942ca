// SPDX-License-Identifier: Apache-2.0
// An isolation that may be none is none.
import GRunLoop

final class Model {
    var count = 0

    func start(isolation: isolated (any Actor)? = #isolation) {
        guard let isolation else { return }
        _ = GRunLoop.Source(isolation: isolation) { self.count += 1 }  // error: isolated
    }
}
