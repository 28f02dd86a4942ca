// SPDX-License-Identifier: Apache-2.0
// Adds further GLib contexts to modes, removes them, and lists them.

extension GRunLoop {
    /// Adds a context to a mode, or to all common modes, so that the loop serves the context in these modes.
    ///
    /// A sleep in the mode waits for the context and for the loop's own items. The run dispatches the context when it
    /// is ready. While the context is in the mode, no run of the mode is `finished`. A pass skips a context that
    /// another thread owns, and the next pass tries again. GLib does not report when the other thread releases the
    /// context. So if the loop may be asleep then, call ``wakeUp()`` after the release.
    ///
    /// - Parameters:
    ///   - context: the context. To make it from a `GMainContext *`, call `GRunLoop.Context(pointer)`. If the context
    ///     is already in the mode, or is the home context, the call has no effect on the contexts that the mode serves.
    ///   - name: the mode, or ``Mode/common``.
    ///
    /// Threads: any. There is no corresponding Core Foundation function. A run calls GLib's `g_main_context_prepare`,
    /// `_query`, `_check` and `_dispatch`.
    public func add(_ context: Context, forMode name: Mode) {
        guard !refuses("add(Context)") else { return }
        let context = context.unretained
        lock.withLock { () -> Kick? in
            guard !isDead else { return nil }
            fixHomeLocked()
            if name == .common, !commonItems.contains(context) {
                Contexts.retain(context)
                commonItems.insert(context)
            }
            var kick: Kick?
            for mode in modesToJoinLocked(name) { kick.merge(joinLocked(context, mode)) }
            return kick
        }?.send()
    }

    /// Adds a context to one mode, unless the context is already there or is the home context. If the loop sleeps in
    /// the mode, returns a kick, because this sleep does not watch the context.
    func joinLocked(_ context: OpaquePointer, _ mode: ModeState) -> Kick? {
        guard home?.context != context, !mode.addedContexts.contains(where: { $0.context == context }) else {
            return nil
        }
        mode.addedContexts.append(ServedContext(context, carrying: nil))
        mode.contextsVersion += 1
        var kick: Kick?
        restartSleepLocked(mode, &kick)
        return kick
    }

    /// Removes a context from a mode, or from all common modes. A dispatch of the context that is under way continues.
    /// If the context was not added, the call does nothing.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func remove(_ context: Context, forMode name: Mode) {
        guard !Fork.refuses("remove(Context)") else { return }
        let context = context.unretained
        var kick: Kick?
        let (_, isCommon) = lock.withLock { () -> ([ServedContext], Bool) in
            if name == .common, commonItems.remove(context) == nil { return ([], false) }
            var removed: [ServedContext] = []
            for mode in modesToLeaveLocked(name) {
                guard let index = mode.addedContexts.firstIndex(where: { $0.context == context }) else { continue }
                removed.append(mode.addedContexts.remove(at: index))
                mode.contextsVersion += 1
                restartSleepLocked(mode, &kick)
            }
            return (removed, name == .common)
        }
        kick?.send()
        if isCommon { Contexts.release(context) }
    }

    /// Returns whether the context was added to the mode. The home context does not count, because common modes serve
    /// it even if it was not added. For ``Mode/common``, true if the context was added to ``Mode/common`` itself.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func contains(_ context: Context, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(Context)") else { return false }
        let context = context.unretained
        return lock.withLock {
            if name == .common { return commonItems.contains(context) }
            return modes[name]?.addedContexts.contains { $0.context == context } ?? false
        }
    }

    /// The contexts that a mode serves. In a common mode, the home context comes first. In a private mode that has run,
    /// the mode's own context comes first. The contexts that were added follow. For ``Mode/common``, the result is the
    /// contexts that were added to ``Mode/common`` itself.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func contexts(forMode name: Mode) -> [Context] {
        guard !Fork.refuses("contexts") else { return [] }
        return lock.withLock {
            if name == .common {
                return commonItems.ordered.compactMap {
                    if case .context(let context) = $0 { Context(context) } else { nil }
                }
            }
            return modes[name].map { contextsLocked(of: $0).map { Context($0.context) } } ?? []
        }
    }
}
