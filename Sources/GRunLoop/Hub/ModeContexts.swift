// SPDX-License-Identifier: Apache-2.0
// Which contexts a mode serves: added and removed by the program.

extension GRunLoop {
    /// Has a mode serve a context, or all common modes: while a run is in such a mode, the context is prepared, polled, checked and
    /// dispatched with the loop's own items, in one sleep. It keeps the mode from being finished. A context that
    /// another thread owns is left out until that thread lets it go.
    ///
    /// Threads: any. `context` is a `GMainContext *`; the loop takes a reference. Adding it again, or the home context, does nothing.
    public func add(_ context: OpaquePointer, forMode name: Mode) {
        guard !refuses("add(context)") else { return }
        guard name == .common else { return join(context, name) }
        let names = lock.withLock { () -> [Mode] in
            guard !isDead, !commonItems.contains(context) else { return [] }
            Contexts.retain(context)
            commonItems.insert(context)
            return Array(commonModes)
        }
        for name in names { join(context, name) }
    }

    func join(_ context: OpaquePointer, _ name: Mode) {
        lock.withLock { () -> Kick? in
            guard !isDead, home?.context != context else { return nil }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard !mode.addedContexts.contains(where: { $0.context == context }) else { return nil }
            mode.addedContexts.append(ServedContext(context, carrying: nil))
            mode.contextsVersion += 1
            return contextsChangedLocked(in: mode)
        }?.send()
    }

    /// Has a mode, or all common modes, no longer serve a context. A pass that is dispatching it finishes that.
    ///
    /// Threads: any.
    public func remove(_ context: OpaquePointer, forMode name: Mode) {
        var names = [name]
        if name == .common {
            names = lock.withLock { commonItems.remove(context) == nil ? [] : Array(commonModes) }
            if !names.isEmpty { Contexts.release(context) }
        }
        for name in names {
            let (kick, _) = lock.withLock { () -> (Kick?, ServedContext?) in
                guard let mode = modes[name],
                    let index = mode.addedContexts.firstIndex(where: { $0.context == context })
                else { return (nil, nil) }
                mode.contextsVersion += 1
                return (contextsChangedLocked(in: mode), mode.addedContexts.remove(at: index))
            }
            kick?.send()
        }
    }

    /// The contexts that a mode serves: the home context in a common mode, a private mode's own one once it has run, and those that
    /// were added. Threads: any.
    public func contexts(ofMode name: Mode) -> [OpaquePointer] {
        lock.withLock { modes[name].map { contextsLocked(of: $0).map(\.context) } ?? [] }
    }
}
