// SPDX-License-Identifier: Apache-2.0
// A chain of operations with callbacks of C: each callback starts the next operation.

import CGRunGIO

/// The data of the callbacks. Used only on the loop's thread.
final class Chain: @unchecked Sendable {
    private var remaining: Int
    private var continuation: UnsafeContinuation<Void, Never>?
    private let start: (gpointer) -> Void

    /// - Parameter start: starts an operation, whose callback gets this data, and calls ``next(_:)``.
    init(_ count: Int, _ start: @escaping (gpointer) -> Void) {
        remaining = count
        self.start = start
    }

    /// Runs all operations, one after another.
    func run(isolation: isolated (any Actor)? = #isolation) async {
        await withUnsafeContinuation {
            continuation = $0
            start(Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// Called by each callback.
    static func next(_ data: gpointer?) {
        guard let data else { return }
        let chain = Unmanaged<Chain>.fromOpaque(data).takeUnretainedValue()
        chain.remaining -= 1
        if chain.remaining > 0 { chain.start(data) } else { chain.continuation.take()?.resume() }
    }
}
