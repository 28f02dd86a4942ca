// SPDX-License-Identifier: Apache-2.0
// This library as the bridge.

import Foundation
import GRunLoop
import GRunLoopFoundation
import Synchronization

enum LibraryBridge {
    private static let serving = Mutex<GRunLoop.Serving?>(nil)

    static func install() {
        do {
            let token = try GRunLoop.main.serve(RunLoop.main)
            serving.withLock { $0 = token }
        } catch { fatalError("\(error)") }
    }
}
