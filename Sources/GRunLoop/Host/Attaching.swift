// SPDX-License-Identifier: Apache-2.0
// Takes a loop out of its home context and puts it back, for a plug-in that the program unloads.

import Glibc

extension GRunLoop {
    /// Takes the loop out of its home context, so that no host serves the loop any more.
    ///
    /// If a host serves the loop, the call ends the loop's run under that host. The call notifies observers of a due
    /// afterWaiting, runs the blocks of an unfinished pass, and notifies observers of the exit. After the call, GLib no
    /// longer references the loop. Items stay in their modes, and wait for ``attach()``. Meanwhile no common mode can
    /// be run. If the loop is already detached, or has no home context yet, the call does nothing.
    ///
    /// `dlclose()` unmaps neither this library nor a shared object that has the library linked in. So a plug-in in
    /// Swift stays in memory, and may leave items in a loop.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. A call inside a callout of
    /// the loop is logged and ignored, because the pass on the stack needs the home context. There is no corresponding
    /// Core Foundation function.
    public func detach() {
        guard !refuses("detach"), requireOwnThread("detach") else { return }
        lock.lock()
        guard innermost == nil else {
            lock.unlock()
            return Log.misuse(
                "detach",
                "ignored: the loop is running. Call detach() outside of the loop's runs and callbacks")
        }
        guard let former = home else { return lock.unlock() }
        endHostedRunLocked(finishesPass: true)
        // The call of `endHostedRunLocked` may release an object whose deinit detaches the loop.
        guard home === former else { return lock.unlock() }
        home = nil
        Contexts.retain(former.context)
        host.detachedFrom = former.context
        for mode in modes.values { mode.contextsVersion += 1 }
        let descriptors = host.poll.close()
        let carried = host.poll.carried.removeAll()
        lock.unlock()
        defer { withExtendedLifetime(carried) {} }
        // The hub leaves its context before the hub's descriptors are closed. Otherwise GLib could poll a number that
        // belongs to another file by then.
        former.close()
        for descriptor in descriptors { close(descriptor) }
    }

    /// Puts the loop back into its home context, after ``detach()``.
    ///
    /// The host's next pass begins a new run, so entry observers are called again. If the loop is not detached, or has
    /// lost its own descriptors, the call does nothing.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. There is no corresponding
    /// Core Foundation function.
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
