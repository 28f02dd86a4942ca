// SPDX-License-Identifier: Apache-2.0
// The loop's home context, and the contexts that a mode serves.

extension GRunLoop {
    /// Chooses the home context, unless the loop already has a home context or cannot choose a context now.
    ///
    /// The main loop's home is GLib's default context. The home of another loop is the context that is now pushed as
    /// its thread's default. If none is pushed, the loop makes a context.
    ///
    /// Only the loop's own thread can find out which context is pushed on it. So if another thread adds an item, the
    /// loop does not choose its home context yet.
    func fixHomeLocked() {
        if home == nil { fixHomeNowLocked() }
    }

    private func fixHomeNowLocked() {
        guard host.detachedFrom == nil, !isDead, isMain || isCurrent else { return }
        guard let context = isMain ? Contexts.ofMainThread() : pushedContext() ?? Contexts.make() else { return }
        home = ServedContext(context, carrying: self)
        Contexts.release(context)
        homeHasChangedLocked()
    }

    /// Returns the context that is pushed as this thread's default, with a reference for the caller. Returns nil if the
    /// context is the home of a loop that virtual time hides, because this loop would then serve the hidden loop.
    private func pushedContext() -> OpaquePointer? {
        guard let context = Contexts.pushedOnThisThread() else { return nil }
        // Takes no lock, because the home of a hidden loop changes only on this thread.
        guard andHidden.contains(where: { $0.home?.context == context }) else { return context }
        Contexts.release(context)
        return nil
    }

    /// Called when the home context has changed. The program may have added the new home context to modes before. This
    /// function removes the context from these modes, because a context must not be carried into itself. `home` still
    /// references the context, so the removal calls no user code.
    func homeHasChangedLocked() {
        for mode in modes.values {
            mode.addedContexts.removeAll { $0.context == home?.context }
            mode.contextsVersion += 1
        }
    }

    /// Returns the contexts that a mode serves. GIO operations that the thread starts in a run of the mode complete in
    /// the first of these contexts.
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
