// SPDX-License-Identifier: Apache-2.0
// The token of a pushed ambient mode.

import CGRun
import Synchronization

extension GRunLoop {
    /// A mode that was pushed as the ambient mode. Pop it with ``pop()``: releasing this object does not pop the mode.
    public final class PushedMode: Sendable {
        /// The mode that was pushed. Threads: any.
        public let mode: Mode
        /// The number that identifies this object in the C interface; 0 if the mode was not pushed.
        let id: UInt32
        private let loop: GRunLoop

        /// After the greatest number, the numbers begin again.
        static let lastID = Atomic<UInt32>(perturbs(CGRUN_SITE_COUNTER) ? .max - 2 : 0)

        init(_ mode: Mode, of loop: GRunLoop, id: UInt32) {
            self.mode = mode
            self.loop = loop
            self.id = id
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
