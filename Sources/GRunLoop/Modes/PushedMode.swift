// SPDX-License-Identifier: Apache-2.0
// The token of a pushed ambient mode.

import Synchronization

extension GRunLoop {
    /// A mode that was pushed as the ambient mode. Pop it with ``pop()``: releasing this object does not pop the mode.
    public final class PushedMode: Sendable {
        /// The mode that was pushed. Threads: any.
        public let mode: Mode
        /// The number that identifies this object in the C interface; never 0.
        let id: UInt32
        private let loop: GRunLoop

        private static let lastID = Atomic<UInt32>(0)

        init(_ mode: Mode, of loop: GRunLoop) {
            self.mode = mode
            self.loop = loop
            id = Self.lastID.add(1, ordering: .relaxed).newValue
        }

        /// Pops the mode. Modes can be popped in any order. After the call, the ambient mode is the last mode that is
        /// still pushed, or the default mode if none is pushed.
        ///
        /// A second call is logged and does nothing.
        ///
        /// Threads: the loop's own thread; on another thread the process ends with a message.
        public func pop() {
            loop.pop(self)
        }
    }

    private func pop(_ token: PushedMode) {
        guard !refuses("PushedMode.pop"), requireOwnThread("PushedMode.pop") else { return }
        let isPopped = lock.withLock {
            guard host.pop(token) else { return false }
            pendingPasses.add(.work)
            return true
        }
        if !isPopped {
            Log.misuse("PushedMode.pop", "mode \(token.mode) was already popped; pop each pushed mode once")
        }
    }
}
