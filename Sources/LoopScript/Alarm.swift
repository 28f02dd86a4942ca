// SPDX-License-Identifier: Apache-2.0
// Calls from outside the loop's thread at a given date, and never after their run has ended.

import Dispatch
import Synchronization

/// The runs that are on the stack of one program, as other threads may see them.
final class ActiveRuns: Sendable {
    private let stack = Mutex<[Int]>([])

    func push(_ run: Int) { stack.withLock { $0.append(run) } }
    func pop() { stack.withLock { _ = $0.popLast() } }

    /// Calls `body` with the innermost run if `run` is still on the stack; the stack does not change meanwhile.
    func ifActive(_ run: Int, _ body: (_ innermost: Int) -> Void) {
        stack.withLock { if $0.contains(run), let last = $0.last { body(last) } }
    }
}

/// Calls `body` on another thread at a date.
func atDate(_ date: UInt64, _ body: @escaping @Sendable () -> Void) {
    let timer = DispatchSource.makeTimerSource(flags: .strict, queue: .global(qos: .userInteractive))
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: date), leeway: .nanoseconds(0))
    timer.setEventHandler {
        body()
        timer.cancel()
    }
    timer.resume()
}

/// Lends a reference to another thread that is known to use it in time.
struct Lent<Value>: @unchecked Sendable {
    let value: Value
}
