// SPDX-License-Identifier: Apache-2.0
// Adds further GLib contexts to modes, removes them, and lists them.

extension GRunLoop {
    /// Adds a context to a mode, or to all common modes, so that the loop serves it there.
    ///
    /// A run in such a mode prepares, polls, checks and dispatches the context. One sleep waits for the context and for
    /// the loop's own items. The context keeps the mode from being finished. A context that another thread owns is left
    /// out, and the next pass tries it again. GLib does not report that the other thread has released the context. So a
    /// loop that sleeps meanwhile does not notice it: call ``wakeUp()`` then.
    ///
    /// - Parameters:
    ///   - context: the context; `GRunLoop.Context(pointer)` makes it from a `GMainContext *`. Adding a context again,
    ///     or adding the home context, does not change what a mode serves.
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

    /// Adds a context to one mode, unless it is there already or is the home context. Call it with the lock held. The
    /// returned kick ends a sleep in the mode, because that sleep does not watch the context.
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

    /// Removes a context from a mode, or from all common modes. A pass that is dispatching the context finishes the
    /// dispatch. A context that was not added is ignored.
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

    /// Whether the context was added to the mode. The home context is not added, so it does not count. For
    /// ``Mode/common``, whether the context was added to the common modes as such.
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

    /// The contexts that a mode serves. A common mode serves the home context, a private mode its own context once it
    /// has run. The contexts that were added follow. For ``Mode/common``, the result is the contexts that were added to
    /// the common modes as such.
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
