// SPDX-License-Identifier: Apache-2.0
// Taking a loop out of its host, and putting it back: for a plug-in that is unloaded.

import Glibc

extension GRunLoop {
    /// Takes the loop out of its home context.
    ///
    /// Iterations of that context no longer serve the loop, and GLib holds nothing of it any more. If entry observers
    /// were told, the last pass is ended first: afterWaiting, its blocks, exit. Items stay where they are, and wait for
    /// ``attach()``; the loop cannot be run meanwhile. A loop that is detached, or was never attached, is left as it
    /// is.
    ///
    /// `dlclose()` does not unmap this library, and no shared object that has it linked in: a plug-in in Swift stays,
    /// and what it has left in a loop is served.
    ///
    /// Threads: the loop's own; from another one it is logged and ignored. So it is inside a callout of the loop: what
    /// is on the stack needs what it would take away. There is no corresponding Core Foundation function.
    public func detach() {
        guard !refuses("detach"), requireOwnThread("detach") else { return }
        lock.lock()
        guard innermost == nil else {
            lock.unlock()
            return Log.misuse(
                "detach",
                "a callout of the loop is on the stack, and nothing is detached; call it from outside the loop")
        }
        guard let former = home else { return lock.unlock() }
        endHostedRunLocked(finishesPass: true)
        // An observer may have detached the loop.
        guard home === former else { return lock.unlock() }
        home = nil
        Contexts.retain(former.context)
        host.detachedFrom = former.context
        for mode in modes.values { mode.contextsVersion += 1 }
        let descriptors = hostPoll.close()
        let carried = hostPoll.carried.removeAll()
        lock.unlock()
        defer { withExtendedLifetime(carried) {} }
        // The hub goes before its descriptors: GLib must not poll a number that belongs to something else.
        former.close()
        for descriptor in descriptors { close(descriptor) }
    }

    /// Puts a loop that was detached back into its home context.
    ///
    /// The next pass under a host is the first of a new, endless run: entry observers are told again. A loop that is
    /// not detached is left as it is.
    ///
    /// Threads: the loop's own; from another one it is logged and ignored. There is no corresponding Core Foundation
    /// function.
    public func attach() {
        guard !refuses("attach"), requireOwnThread("attach") else { return }
        lock.withLock {
            guard let context = host.detachedFrom, !hostPoll.isAbandoned else { return }
            home = ServedContext(context, carrying: self)
            host.detachedFrom = nil
            owed.owe(.pass)
            Contexts.release(context)
            homeHasChangedLocked()
        }
    }
}
