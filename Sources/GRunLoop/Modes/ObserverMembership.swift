// SPDX-License-Identifier: Apache-2.0
// Observers come and go.

extension GRunLoop {
    /// Adds an observer to a mode, or to all common modes. One that is there already, invalid, or in another loop, is
    /// left alone; that it is in another loop is logged. One whose closure belongs to an actor that lives on another
    /// loop ends the process, with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddObserver`.
    public func add(_ observer: Observer, forMode name: Mode) {
        guard !refuses("add(Observer)") else { return }
        let isTaken = lock.withLock { () -> Bool in
            guard !isDead else { return false }
            guard observer.guardian.bind(to: lock) else { return true }
            defer { unbindIfUnusedLocked(observer) }
            guard observer.isValidLocked else { return false }
            observer.home?.require(self, for: "Observer")
            fixHomeLocked()
            for mode in modesToJoinLocked(name) { joinLocked(observer, mode) }
            if name == .common {
                observer.isCommonItem = true
                commonItems.insert(.observer(observer), for: observer)
            }
            return false
        }
        if isTaken { refuseOtherLoop("Observer", home: observer.home) }
    }

    /// Removes an observer from a mode, or from all common modes. A notification that is under way still reaches it.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveObserver`.
    public func remove(_ observer: Observer, forMode name: Mode) {
        guard !Fork.refuses("remove(Observer)") else { return }
        _ = lock.withLock { () -> [Any] in
            guard observer.guardian.isBound(to: lock) else { return [] }
            var released: [Any] = []
            if name == .common {
                guard let item = commonItems.remove(observer) else { return [] }
                observer.isCommonItem = false
                released.append(item)
            }
            for mode in modesToLeaveLocked(name) { leaveLocked(observer, mode) }
            unbindIfUnusedLocked(observer)
            return released
        }
    }

    /// Whether the observer is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsObserver`.
    public func contains(_ observer: Observer, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(Observer)") else { return false }
        return lock.withLock {
            guard observer.guardian.isBound(to: lock) else { return false }
            if name == .common { return observer.isCommonItem }
            return observer.modes.contains { $0.name == name }
        }
    }

    // MARK: With the lock held

    func joinLocked(_ observer: Observer, _ mode: ModeState) {
        guard !observer.modes.contains(where: { $0 === mode }) else { return }
        observer.modes.append(mode)
        mode.insert(observer)
    }

    func leaveLocked(_ observer: Observer, _ mode: ModeState) {
        guard let index = observer.modes.firstIndex(where: { $0 === mode }) else { return }
        observer.modes.remove(at: index)
        mode.remove(observer)
    }

    /// Returns what is to be released after the lock.
    func removeEverywhereLocked(_ observer: Observer) -> [Any] {
        for mode in observer.modes { mode.remove(observer) }
        observer.modes = []
        let item = observer.isCommonItem ? commonItems.remove(observer) : nil
        observer.isCommonItem = false
        unbindIfUnusedLocked(observer)
        return [item as Any]
    }

    func unbindIfUnusedLocked(_ observer: Observer) {
        guard observer.modes.isEmpty, !observer.isCommonItem else { return }
        observer.guardian.unbind()
    }
}
