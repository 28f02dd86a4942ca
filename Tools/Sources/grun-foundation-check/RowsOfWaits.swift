// SPDX-License-Identifier: Apache-2.0
// A thread that waits in Foundation's run(mode:before:), and the work that it serves meanwhile.

import Foundation
import GRunLoop
import GRunLoopFoundation
import Synchronization

extension Rows {
    /// A run of an empty Foundation mode returns immediately, whatever items GRunLoop has. With a Foundation timer in
    /// the mode, GRunLoop's items are served.
    static func emptyMode() -> Outcome {
        let found = Mutex((empty: 0, filled: 0))
        let ended = DispatchSemaphore(value: 0)
        Foundation.Thread {
            guard let serving = try? GRunLoop.current.serve(RunLoop.current) else { return }
            let fired = Atomic(0)
            let ours = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                fired.wrappingAdd(1, ordering: .relaxed)
            }
            GRunLoop.current.add(ours, forMode: .default)
            let end = Date(timeIntervalSinceNow: 2)
            for _ in 0..<10_000 where RunLoop.current.run(mode: .default, before: end) { break }
            let empty = fired.load(ordering: .relaxed)
            let far = Foundation.Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
            RunLoop.current.add(far, forMode: .default)
            while fired.load(ordering: .relaxed) < empty + 3, Date() < end {
                _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
            }
            let filled = fired.load(ordering: .relaxed) - empty
            found.withLock { $0 = (empty, filled) }
            far.invalidate()
            ours.invalidate()
            serving.cancel()
            ended.signal()
        }.start()
        guard ended.wait(timeout: .now() + 10) == .success else { return .fails("it did not end") }
        let (empty, filled) = found.withLock { $0 }
        return Outcome(empty == 0 && filled >= 3, "\(empty) calls beside an empty mode, \(filled) beside a timer")
    }
}
