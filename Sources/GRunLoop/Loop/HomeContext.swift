// SPDX-License-Identifier: Apache-2.0
// A loop's home context: when it is fixed, and which modes serve it.

extension GRunLoop {
    /// With the lock held: fixes the home context if it is not fixed yet and can be now. The main loop's is GLib's
    /// default context. On another thread it is the one that is pushed there when the first item or block is added or
    /// the loop first runs, else one of its own; what another thread adds before that does not fix it: only the thread
    /// itself can tell what is pushed there.
    func fixHomeLocked() {
        if home == nil { fixHomeNowLocked() }
    }

    private func fixHomeNowLocked() {
        guard host.detachedFrom == nil, !isDead, isMain || isCurrent else { return }
        guard let context = isMain ? Contexts.ofMainThread() : Contexts.pushedOnThisThread() ?? Contexts.make() else {
            return
        }
        home = ServedContext(context, carrying: self)
        Contexts.release(context)
        homeHasChangedLocked()
    }

    /// With the lock held: the home context is not carried, though it may have been added to modes before it became the
    /// home. It stays referenced as the home, so dropping it here calls no user code.
    func homeHasChangedLocked() {
        for mode in modes.values {
            mode.addedContexts.removeAll { $0.context == home?.context }
            mode.contextsVersion += 1
        }
    }

    /// With the lock held: the contexts that a mode serves, the one first in which GIO is to complete.
    func contextsLocked(of mode: ModeState) -> [ServedContext] {
        if let known = mode.contexts { return known }
        var contexts: [ServedContext] = []
        if mode.isCommon, let home { contexts.append(home) }
        if let own = mode.ownContext { contexts.append(own) }
        contexts += mode.addedContexts
        mode.contexts = contexts
        return contexts
    }
}
