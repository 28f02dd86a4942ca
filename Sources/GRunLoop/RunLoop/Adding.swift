// SPDX-License-Identifier: Apache-2.0
// Items come and go: add, remove and contains, for a mode and for the common modes.
//
// Every item follows the same three steps: `add` resolves the common modes, `join` puts the item into one mode, and what is to be
// told or woken because of it happens after the lock. Removing is the reverse. What leaves a mode is released after
// the lock too, because its deinit may be user code.

extension GRunLoop {
    // MARK: Version-0 sources

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

    // MARK: Descriptor sources

    /// Adds a descriptor source to a mode, or to all common modes. A loop that sleeps in the mode watches it at once. A
    /// source that is there already, invalid, or in another loop, is left alone; the latter is logged.
    ///
    /// Threads: any. It throws if the descriptor cannot be watched; then the source is in none of the modes that it was added to. The
    /// corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add(_ source: DescriptorSource, forMode name: Mode) throws(DescriptorError) {
        guard !refuses("add(DescriptorSource)") else { return }
        guard name == .common else { return try join(source, name) }
        let already = contains(source, forMode: .common)
        var joined: [Mode] = []
        for mode in becomeCommon(.descriptor(source), source) {
            do throws(DescriptorError) {
                try join(source, mode)
                joined.append(mode)
            } catch {
                if !already { _ = ceaseCommon(source) }
                for mode in joined { remove(source, forMode: mode) }
                throw error
            }
        }
    }

    func join(_ source: DescriptorSource, _ name: Mode) throws(DescriptorError) {
        enum Outcome {
            case done(Kick?, wasClosed: Bool)
            case taken
            case failed(DescriptorError)
        }
        let outcome = lock.withLock { () -> Outcome in
            guard !isDead else { return .done(nil, wasClosed: false) }
            guard source.guardian.bind(to: lock) else { return .taken }
            defer { if source.modes.isEmpty { source.guardian.unbind() } }
            guard source.isValidLocked else { return .done(nil, wasClosed: false) }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard !mode.descriptors.contains(source) else { return .done(nil, wasClosed: false) }
            do throws(DescriptorError) {
                let wasClosed = try mode.descriptors.add(source)
                source.loop = self
                source.modes.append(mode)
                return .done(descriptorsChangedLocked(in: mode), wasClosed: wasClosed)
            } catch {
                return .failed(error)
            }
        }
        switch outcome {
        case .done(let kick, let wasClosed):
            kick?.send()
            if wasClosed { warnOfClosed(source) }
        case .taken: refuseOtherLoop("DescriptorSource")
        case .failed(let error): throw error
        }
    }

    /// Removes a descriptor source from a mode, or from all common modes. It is not performed any more.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: DescriptorSource, forMode name: Mode) {
        let names = name == .common ? ceaseCommon(source) : [name]
        for name in names {
            let wasClosed = lock.withLock { () -> (Bool, DescriptorSource)? in
                guard let mode = modes[name], mode.descriptors.contains(source) else { return nil }
                let wasClosed = mode.descriptors.remove(source)
                leaveLocked(source, mode)
                return (wasClosed, source)
            }
            if wasClosed?.0 == true { warnOfClosed(source) }
        }
    }

    /// Whether the source is in the mode; for ``Mode/common``, whether it was added to the common modes as such. Threads: any.
    public func contains(_ source: DescriptorSource, forMode name: Mode) -> Bool {
        lock.withLock {
            if name == .common { return commonItems.contains(source) }
            return modes[name]?.descriptors.contains(source) ?? false
        }
    }

    func removeLocked(_ source: DescriptorSource, from mode: ModeState) -> DescriptorSource {
        _ = mode.descriptors.remove(source)
        leaveLocked(source, mode)
        return source
    }

    private func leaveLocked(_ source: DescriptorSource, _ mode: ModeState) {
        source.modes.removeAll { $0 === mode }
        guard source.modes.isEmpty else { return }
        source.loop = nil
        source.guardian.unbind()
    }

    func removeEverywhereLocked(_ source: DescriptorSource) -> [Any] {
        var removed: [Any] = source.modes.map { removeLocked(source, from: $0) }
        if let item = commonItems.remove(source) { removed.append(item) }
        return removed
    }

    private func warnOfClosed(_ source: DescriptorSource) {
        Log.warning(
            "descriptor \(source.descriptor) was closed while a DescriptorSource watched it; remove or invalidate the source "
                + "before closing its descriptor")
    }

    // MARK: Timers

    /// Adds a timer to a mode, or to all common modes. A loop that sleeps in the mode is re-armed at once. A timer that is there
    /// already, invalid, or in another loop, is left alone; the latter is logged.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddTimer`.
    public func add(_ timer: Timer, forMode name: Mode) {
        guard !refuses("add(Timer)") else { return }
        guard name == .common else { return join(timer, name) }
        guard timer.isValid, timer.isInNoLoopBut(self) else { return refuseIfValid(timer.isValid, "Timer") }
        for mode in becomeCommon(.timer(timer), timer) { join(timer, mode) }
    }

    func join(_ timer: Timer, _ name: Mode) {
        enum Outcome {
            case done(Kick?)
            case taken
        }
        let outcome = lock.withLock { () -> Outcome in
            guard !isDead else { return .done(nil) }
            guard timer.guardian.bind(to: lock) else { return .taken }
            defer { if timer.places.isEmpty { timer.guardian.unbind() } }
            guard timer.isValidLocked else { return .done(nil) }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard !timer.places.contains(mode) else { return .done(nil) }
            timer.loop = self
            mode.insert(timer)
            return .done(rearmLocked(mode))
        }
        switch outcome {
        case .done(let kick): kick?.send()
        case .taken: refuseOtherLoop("Timer")
        }
    }

    /// Removes a timer from a mode, or from all common modes. It stays valid, and keeps its dates.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
    public func remove(_ timer: Timer, forMode name: Mode) {
        let names = name == .common ? ceaseCommon(timer) : [name]
        for name in names {
            _ = lock.withLock { () -> Timer? in
                guard timer.guardian.isBound(to: lock), let mode = modes[name], timer.places.contains(mode) else {
                    return nil
                }
                return removeLocked(timer, from: mode)
            }
        }
    }

    /// Whether the timer is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
    public func contains(_ timer: Timer, forMode name: Mode) -> Bool {
        lock.withLock {
            guard timer.guardian.isBound(to: lock) else { return false }
            if name == .common { return commonItems.contains(timer) }
            return modes[name].map(timer.places.contains) ?? false
        }
    }

    func removeLocked(_ timer: Timer, from mode: ModeState) -> Timer {
        let removed = mode.remove(timer)
        if timer.places.isEmpty {
            timer.loop = nil
            timer.guardian.unbind()
        }
        return removed
    }

    func removeEverywhereLocked(_ timer: Timer) -> [Any] {
        var removed: [Any] = timer.places.modes.map { removeLocked(timer, from: $0) }
        if let item = commonItems.remove(timer) { removed.append(item) }
        return removed
    }

    /// The timer begins to fire: it leaves every heap, so that a nested run does not see it.
    func suspendInHeapsLocked(_ timer: Timer) {
        for mode in timer.places.modes { mode.takeOut(timer) }
    }

    /// The timer has fired: it goes back into the heaps with its new deadline, behind those that are equal.
    func resumeInHeapsLocked(_ timer: Timer) -> Kick? {
        var kick: Kick?
        for mode in timer.places.modes {
            mode.heap.insert(timer, in: mode)
            kick = rearmLocked(mode) ?? kick
        }
        return kick
    }

    /// The timer's deadline or tolerance is another: it finds its new place in every heap.
    func timerChangedLocked(_ timer: Timer) -> Kick? {
        guard !timer.isFiring else { return nil }
        suspendInHeapsLocked(timer)
        return resumeInHeapsLocked(timer)
    }

    /// The timer's date was set: on another thread that also wakes the loop (item 77).
    func timerMovedLocked(_ timer: Timer) -> Kick? {
        let kick = timerChangedLocked(timer)
        return isCurrent ? kick : wakeUpLocked() ?? kick
    }

    // MARK: Observers

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

    // MARK: Common items

    /// Makes an item a common one; answers the modes that it joins.
    private func becomeCommon(_ item: Item, _ object: AnyObject) -> [Mode] {
        lock.withLock {
            guard !isDead else { return [] }
            commonItems.insert(item, for: object)
            return commonModes.sorted { $0.rawValue < $1.rawValue }
        }
    }

    /// Ends that; answers the modes that the item leaves. An item that is in common modes but is no common item stays (item 162).
    private func ceaseCommon(_ object: AnyObject) -> [Mode] {
        let (names, _) = lock.withLock { () -> ([Mode], Item?) in
            guard let item = commonItems.remove(object) else { return ([], nil) }
            return (commonModes.sorted { $0.rawValue < $1.rawValue }, item)
        }
        return names
    }

    func forgetCommonItem(_ source: Source) {
        _ = lock.withLock { commonItems.remove(source) }
    }

    private func refuseIfValid(_ isValid: Bool, _ kind: StaticString) {
        if isValid { refuseOtherLoop(kind) }
    }

    private func refuseOtherLoop(_ kind: StaticString) {
        Log.critical(
            "GRunLoop.add: this \(kind) is in another run loop; remove it from every mode there, or invalidate it, before "
                + "it is added here")
    }
}

extension GRunLoop.Timer {
    func isInNoLoopBut(_ loop: GRunLoop) -> Bool { guardian.withLock { self.loop == nil || self.loop === loop } }
}

extension GRunLoop.Observer {
    func isInNoLoopBut(_ loop: GRunLoop) -> Bool { guardian.withLock { self.loop == nil || self.loop === loop } }
}
