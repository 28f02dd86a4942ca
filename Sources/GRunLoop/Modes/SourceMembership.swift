// SPDX-License-Identifier: Apache-2.0
// Version-0 sources come and go.
//
// The same three steps for every kind of item: `add` resolves the common modes, `join` puts the item into one mode, and what is to be
// told or woken because of it happens after the lock. What leaves a mode is released after the lock too: its deinit may be user code.

extension GRunLoop {
    /// Adds a source to a mode, or to all common modes. Its `schedule` is called on this thread before this returns, once for each
    /// mode that it joins. A source that is there already, or invalid, is left alone. A sleeping loop does not notice until
    /// it wakes.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add(_ source: Source, forMode name: Mode) {
        guard !refuses("add(Source)"), source.isValid else { return }
        guard name == .common else { return join(source, name) }
        for mode in becomeCommon(.source(source), source) { join(source, mode) }
    }

    func join(_ source: Source, _ name: Mode) {
        let joined = lock.withLock { () -> Bool in
            guard !isDead, source.isValid else { return false }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard mode.sources[ObjectIdentifier(source)] == nil, let signalled = source.join(mode, of: self) else {
                return false
            }
            mode.sources[ObjectIdentifier(source)] = source
            if signalled { mode.noteSignal(of: source) }
            return true
        }
        if joined { source.schedule?(self, name) }
    }

    /// Removes a source from a mode, or from all common modes. Its `cancel` is called on this thread, once for each mode that it
    /// leaves. It does not perform any more, also when it was signalled; the signal is kept.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: Source, forMode name: Mode) {
        guard name == .common else { return part(source, name) }
        for mode in ceaseCommon(source) { part(source, mode) }
    }

    private func part(_ source: Source, _ name: Mode) {
        let parted = lock.withLock { () -> (Source, GRunLoop?)? in
            guard let mode = modes[name], let known = mode.sources.removeValue(forKey: ObjectIdentifier(source)) else {
                return nil
            }
            mode.signalled.removeAll { $0 === source }
            return (known, source.leave(mode))
        }
        if parted != nil { source.cancel?(self, name) }
    }

    /// Whether the source is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ source: Source, forMode name: Mode) -> Bool {
        lock.withLock {
            guard source.isValid else { return false }
            if name == .common { return commonItems.contains(source) }
            return modes[name]?.sources[ObjectIdentifier(source)] != nil
        }
    }

    func noteSignal(of source: Source, in mode: ModeState) {
        lock.withLock {
            guard mode.sources[ObjectIdentifier(source)] != nil else { return }
            mode.noteSignal(of: source)
        }
    }
}
