// SPDX-License-Identifier: Apache-2.0
// A mode in which a host is served, until it is taken back.

import Synchronization

extension GRunLoop {
    /// A mode that was pushed as the ambient one, and how it is taken back.
    ///
    /// Letting go of it takes nothing back: ``pop()`` does.
    public final class PushedMode: Sendable {
        /// The mode that was pushed. Threads: any.
        public let mode: Mode
        /// Its name in the C interface; not 0.
        let id: UInt32
        private let loop: GRunLoop

        private static let lastID = Atomic<UInt32>(0)

        init(_ mode: Mode, of loop: GRunLoop) {
            self.mode = mode
            self.loop = loop
            id = Self.lastID.add(1, ordering: .relaxed).newValue
        }

        /// Takes the mode back. The ambient mode is then the one that was pushed last of those that are left, or the
        /// default one. Modes can be taken back in any order.
        ///
        /// Threads: the loop's own; on another one, and a second time, it is logged and does nothing.
        public func pop() {
            loop.pop(self)
        }
    }

    private func pop(_ token: PushedMode) {
        guard !refuses("pop"), requireOwnThread("pop") else { return }
        let isPopped = lock.withLock {
            guard host.pop(token) else { return false }
            owed.owe(.work)
            return true
        }
        if !isPopped { Log.misuse("PushedMode.pop", "mode \(token.mode) is not pushed any more; pop it once") }
    }
}
