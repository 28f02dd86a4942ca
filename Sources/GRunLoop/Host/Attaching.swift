// SPDX-License-Identifier: Apache-2.0
// Takes a loop out of its home context and puts it back, for a plug-in that is unloaded.

import Glibc

extension GRunLoop {
    /// Takes the loop out of its home context.
    ///
    /// Iterations of the context no longer serve the loop, and GLib holds no part of the loop any more. If the host's
    /// run has begun, its last pass is ended first. Observers get afterWaiting if it is due, the blocks of the pass
    /// run, and observers get exit. Items stay in their modes, and wait for ``attach()``. The loop cannot be run
    /// meanwhile. If the loop is already detached, or was never attached, the call does nothing.
    ///
    /// `dlclose()` unmaps neither this library nor a shared object that has the library linked in. So a plug-in in
    /// Swift stays in memory, and the items that it has left in a loop are served.
    ///
    /// Threads: the loop's own; on another thread the process ends with a message. A call inside a callout of the loop
    /// is logged and ignored, too, because the pass on the stack needs the home context. There is no corresponding Core
    /// Foundation function.
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
        // The deinit of an object that the host's run has kept may have detached the loop already.
        guard home === former else { return lock.unlock() }
        home = nil
        Contexts.retain(former.context)
        host.detachedFrom = former.context
        for mode in modes.values { mode.contextsVersion += 1 }
        let descriptors = host.poll.close()
        let carried = host.poll.carried.removeAll()
        lock.unlock()
        defer { withExtendedLifetime(carried) {} }
        // The hub leaves its context before its descriptors are closed, because GLib must not poll a number that
        // another descriptor may have got meanwhile.
        former.close()
        for descriptor in descriptors { close(descriptor) }
    }

    /// Puts the loop back into its home context, after ``detach()``.
    ///
    /// The next pass under a host is the first pass of a new, endless run, so entry observers are called again. If the
    /// loop is not detached, or has lost its own descriptors, the call does nothing.
    ///
    /// Threads: the loop's own; on another thread the process ends with a message. There is no corresponding Core
    /// Foundation function.
    public func attach() {
        guard !refuses("attach"), requireOwnThread("attach") else { return }
        lock.withLock {
            guard let context = host.detachedFrom, !host.poll.isAbandoned else { return }
            home = ServedContext(context, carrying: self)
            host.detachedFrom = nil
            pendingPasses.add(.pass)
            Contexts.release(context)
            homeHasChangedLocked()
        }
    }
}
