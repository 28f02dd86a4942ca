// SPDX-License-Identifier: Apache-2.0
// Contexts come and go.

extension GRunLoop {
    /// Has a mode serve a context, or all common modes.
    ///
    /// While a run is in such a mode, the context is prepared, polled, checked and dispatched with the loop's own
    /// items, in one sleep. It keeps the mode from being finished. A context that another thread owns is left out, and
    /// tried again in the next pass: GLib does not tell when that thread lets it go, so that a loop which sleeps
    /// meanwhile sleeps on. Call ``wakeUp()`` then.
    ///
    /// - Parameters:
    ///   - context: a `GMainContext *`; the loop takes a reference. To add it again, or the home context, does nothing.
    ///   - name: the mode, or ``Mode/common``.
    ///
    /// Threads: any. There is no corresponding Core Foundation function. GLib's functions that it calls are
    /// `g_main_context_prepare`, `_query`, `_check` and `_dispatch`.
    public func add(context: OpaquePointer, forMode name: Mode) {
        guard !refuses("add(context)") else { return }
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

    /// The same of a context that is held, as ``contexts(forMode:)`` returns it. See ``add(context:forMode:)``.
    ///
    /// Threads: any.
    public func add(_ context: Context, forMode name: Mode) {
        context.withPointer { add(context: $0, forMode: name) }
    }

    /// With the lock held.
    func joinLocked(_ context: OpaquePointer, _ mode: ModeState) -> Kick? {
        guard home?.context != context, !mode.addedContexts.contains(where: { $0.context == context }) else {
            return nil
        }
        mode.addedContexts.append(ServedContext(context, carrying: nil))
        mode.contextsVersion += 1
        var kick: Kick?
        watchAnewLocked(mode, &kick)
        return kick
    }

    /// Has a mode, or all common modes, no longer serve a context. A pass that is dispatching it finishes that. One
    /// that was not added is ignored.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func remove(context: OpaquePointer, forMode name: Mode) {
        guard !Fork.refuses("remove(context)") else { return }
        var kick: Kick?
        let (_, isCommon) = lock.withLock { () -> ([ServedContext], Bool) in
            if name == .common, commonItems.remove(context) == nil { return ([], false) }
            var removed: [ServedContext] = []
            for mode in modesToLeaveLocked(name) {
                guard let index = mode.addedContexts.firstIndex(where: { $0.context == context }) else { continue }
                removed.append(mode.addedContexts.remove(at: index))
                mode.contextsVersion += 1
                watchAnewLocked(mode, &kick)
            }
            return (removed, name == .common)
        }
        kick?.send()
        if isCommon { Contexts.release(context) }
    }

    /// The same of a context that is held, as ``contexts(forMode:)`` returns it. See ``remove(context:forMode:)``.
    ///
    /// Threads: any.
    public func remove(_ context: Context, forMode name: Mode) {
        context.withPointer { remove(context: $0, forMode: name) }
    }

    /// Whether the mode serves the context because it was added; for ``Mode/common``, whether it was added to the
    /// common modes as such.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func contains(context: OpaquePointer, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(context)") else { return false }
        return lock.withLock {
            if name == .common { return commonItems.contains(context) }
            return modes[name]?.addedContexts.contains { $0.context == context } ?? false
        }
    }

    /// The same of a context that is held, as ``contexts(forMode:)`` returns it. See ``contains(context:forMode:)``.
    ///
    /// Threads: any.
    public func contains(_ context: Context, forMode name: Mode) -> Bool {
        context.withPointer { contains(context: $0, forMode: name) }
    }

    /// The contexts that a mode serves: the home context in a common mode, a private mode's own one once it has run,
    /// and those that were added. For ``Mode/common``, those that were added to the common modes as such.
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
