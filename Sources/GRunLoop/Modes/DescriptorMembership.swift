// SPDX-License-Identifier: Apache-2.0
// Descriptor sources come and go.
//
// The same three steps for every kind of item: `add` resolves the common modes, `join` puts the item into one mode, and what is to be
// told or woken because of it happens after the lock. What leaves a mode is released after the lock too: its deinit may be user code.

extension GRunLoop {
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
}
