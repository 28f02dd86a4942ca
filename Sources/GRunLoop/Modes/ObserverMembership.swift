// SPDX-License-Identifier: Apache-2.0
// Observers come and go.
//
// The same three steps for every kind of item: `add` resolves the common modes, `join` puts the item into one mode, and what is to be
// told or woken because of it happens after the lock. What leaves a mode is released after the lock too: its deinit may be user code.

extension GRunLoop {
    /// Adds an observer to a mode, or to all common modes. One that is there already, invalid, or in another loop, is left alone;
    /// the latter is logged.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddObserver`.
    public func add(_ observer: Observer, forMode name: Mode) {
        guard !refuses("add(Observer)") else { return }
        guard name == .common else { return join(observer, name) }
        guard observer.isValid, observer.isInNoLoopBut(self) else { return refuseIfValid(observer.isValid, "Observer") }
        for mode in becomeCommon(.observer(observer), observer) { join(observer, mode) }
    }

    func join(_ observer: Observer, _ name: Mode) {
        let isTaken = lock.withLock { () -> Bool in
            guard !isDead else { return false }
            guard observer.guardian.bind(to: lock) else { return true }
            defer { if observer.modes.isEmpty { observer.guardian.unbind() } }
            guard observer.isValidLocked else { return false }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard !observer.modes.contains(where: { $0 === mode }) else { return false }
            observer.loop = self
            observer.modes.append(mode)
            mode.insert(observer)
            return false
        }
        if isTaken { refuseOtherLoop("Observer") }
    }

    /// Removes an observer from a mode, or from all common modes. A notification that is under way still reaches it.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveObserver`.
    public func remove(_ observer: Observer, forMode name: Mode) {
        let names = name == .common ? ceaseCommon(observer) : [name]
        for name in names {
            _ = lock.withLock { () -> Observer? in
                guard observer.guardian.isBound(to: lock), let mode = modes[name],
                    observer.modes.contains(where: { $0 === mode })
                else { return nil }
                return removeLocked(observer, from: mode)
            }
        }
    }

    /// Whether the observer is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsObserver`.
    public func contains(_ observer: Observer, forMode name: Mode) -> Bool {
        lock.withLock {
            if name == .common { return commonItems.contains(observer) }
            return modes[name]?.observers.contains { $0 === observer } ?? false
        }
    }

    func removeLocked(_ observer: Observer, from mode: ModeState) -> Observer {
        mode.remove(observer)
        observer.modes.removeAll { $0 === mode }
        if observer.modes.isEmpty {
            observer.loop = nil
            observer.guardian.unbind()
        }
        return observer
    }

    func removeEverywhereLocked(_ observer: Observer) -> [Any] {
        var removed: [Any] = observer.modes.map { removeLocked(observer, from: $0) }
        if let item = commonItems.remove(observer) { removed.append(item) }
        return removed
    }
}

extension GRunLoop.Observer {
    func isInNoLoopBut(_ loop: GRunLoop) -> Bool { guardian.withLock { self.loop == nil || self.loop === loop } }
}
