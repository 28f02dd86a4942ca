// SPDX-License-Identifier: Apache-2.0
// A program with a static Foundation, which calls its own functions without a slot. scripts/test-foundation builds and
// runs it.

import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc

func descriptors() -> [Int32] { (0..<1024).filter { fcntl($0, F_GETFD) >= 0 } }

_ = (GRunLoop.main, RunLoop.main)
let before = descriptors()
do {
    _ = try GRunLoop.main.serve(RunLoop.main)
    print("served")
} catch {
    let reason = "\(error)".contains("cannot be intercepted") ? "not seen" : "\(error)"
    print("\(reason), descriptors as before: \(descriptors() == before)")
}
