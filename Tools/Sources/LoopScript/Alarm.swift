// SPDX-License-Identifier: Apache-2.0
// Calls from outside the loop's thread at a given date, and never after their run has ended.

import Dispatch
import Synchronization

/// The runs on the stack of one program, in a form that other threads may read.
final class ActiveRuns: Sendable {
    private let stack = Mutex<[(run: Int, isStopped: Bool)]>([])

    func push(_ run: Int) { stack.withLock { $0.append((run, false)) } }
    func pop() { stack.withLock { _ = $0.popLast() } }

    /// Calls `body`, which stops the innermost run, if `run` is the innermost one. The stack does not change meanwhile.
    /// Returns whether `run` has not returned.
    @discardableResult func stop(_ run: Int, _ body: () -> Void) -> Bool {
        stack.withLock {
            guard $0.last?.run == run else { return $0.contains { $0.run == run } }
            $0[$0.count - 1].isStopped = true
            body()
            return true
        }
    }

    /// Calls `body`, which stops the innermost run, if there is one. The stack does not change meanwhile.
    func stopAny(_ body: () -> Void) { stack.withLock { if !$0.isEmpty { body() } } }

    /// Whether the innermost run was stopped.
    var isStopped: Bool { stack.withLock { $0.last?.isStopped ?? false } }
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

/// Passes a reference to another thread, which is known to use it in time.
struct Lent<Value>: @unchecked Sendable {
    let value: Value
}
