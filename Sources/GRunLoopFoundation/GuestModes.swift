// SPDX-License-Identifier: Apache-2.0
// Which modes of Foundation's run loop are served: those that it has, and the common ones of both loops.

import CGRunFoundation
import GRunLoop
import Glibc

extension Guest {
    /// What there is for our loop to wait for.
    enum Finding {
        case watched
        /// Core Foundation does not have the mode, and who asks it for its modes is to see that.
        case absent
        case notAnEpoll
        /// No descriptor is left; to be tried again.
        case exhausted
    }

    /// Any thread: our loop will serve a mode of this name. Its epoll is looked for on the loop's thread, where no lock
    /// of Foundation's is held. Nil if there is no memory, or once it has ended.
    @discardableResult func meet(_ name: GRunLoop.Mode) -> GuestMode? {
        if let mode = modes.withLock({ $0?[name] }) { return mode }
        guard name != .common, let new = GuestMode(name, serve: { [weak self] in self?.serve($0) }) else { return nil }
        let mode = modes.withLock { modes -> GuestMode? in
            if let mode = modes?[name] { return mode }
            modes?[name] = new
            return modes?[name]
        }
        guard mode === new else { return mode }
        loop.add(new.source, forMode: name)
        if new.owe(quietly: false) { loop.wakeUp() }
        return new
    }

    /// The loop's thread: finds the mode's epoll, and has it watched. Until then Core Foundation waits in it itself.
    @discardableResult func complete(_ mode: GuestMode) -> Finding {
        let finding = find(mode)
        if finding == .exhausted { retry(mode) }
        return finding
    }

    private func find(_ mode: GuestMode) -> Finding {
        if mode.isWatched { return isCommonHere(mode) ? .watched : .exhausted }
        guard !mode.isHopeless, let items else { return .notAnEpoll }
        guard mode.mode == .default || modesThere().contains(mode.mode) else { return .absent }
        if cgrun_guest_is_common(address, mode.name) { mode.lacksCommon.store(true, ordering: .relaxed) }
        guard isCommonHere(mode) else { return .exhausted }
        items.add(to: mode)
        switch cgrun_guest_find_epoll(address, mode.name) {
        case -2: return .exhausted
        case -1:
            mode.isHopeless = true
            return .notAnEpoll
        case let epoll:
            do { try mode.watch(epoll, in: loop) { [weak self] in self?.serve($0) } } catch { return .exhausted }
            return .watched
        }
    }

    /// Whether the main queue has its turn in our runs of the mode, if it has in Core Foundation's.
    private func isCommonHere(_ mode: GuestMode) -> Bool {
        guard mode.lacksCommon.load(ordering: .relaxed) else { return true }
        do { try loop.addCommonMode(mode.mode) } catch { return false }
        mode.lacksCommon.store(false, ordering: .relaxed)
        return true
    }

    /// No descriptor is left: passes serve the mode now and then, until one is.
    private func retry(_ mode: GuestMode) {
        guard !mode.isToRetry else { return }
        mode.isToRetry = true
        loop.perform(after: .seconds(1), inModes: [mode.mode]) { [weak self] in
            mode.isToRetry = false
            self?.serve(mode)
        }
    }

    func takeModes() -> [GuestMode] {
        var ended: [GRunLoop.Mode: GuestMode]?
        modes.withLock { swap(&$0, &ended) }
        return ended.map { Array($0.values) } ?? []
    }

    /// All that our loop waits for.
    var watchedModes: [GuestMode] { modes.withLock { $0?.values.filter(\.isWatched) ?? [] } }

    /// The mode that Core Foundation runs now; nil if none, or one that is not known.
    func currentMode() -> GuestMode? {
        guard let name = cgrun_guest_copy_current_mode(address) else { return nil }
        defer { cgrun_guest_release(name) }
        return knownMode(name)
    }

    func knownMode(_ name: UnsafeRawPointer) -> GuestMode? {
        if cgrun_guest_is_default_mode(name) { return modes.withLock { $0?[.default] } }
        return text(of: name).flatMap { name in modes.withLock { $0?[GRunLoop.Mode(rawValue: name)] } }
    }

    /// The loop's thread: one that Core Foundation is about to run, and has.
    func modeToRun(_ name: UnsafeRawPointer?) -> GuestMode? {
        guard let name else { return nil }
        if let mode = knownMode(name) { return mode }
        return names(in: name).first { modesThere().contains($0) }.flatMap { meet($0) }
    }

    /// The loop's thread, or with no lock of Foundation's.
    func modesThere() -> [GRunLoop.Mode] {
        guard let all = cgrun_guest_copy_modes(address) else { return [] }
        defer { cgrun_guest_release(all) }
        return names(in: all)
    }

    /// Without the common modes' own.
    func names(in modes: UnsafeRawPointer) -> [GRunLoop.Mode] {
        var names: [GRunLoop.Mode] = []
        withUnsafeMutablePointer(to: &names) {
            cgrun_guest_each_mode(
                modes,
                { name, names in
                    guard let name, !cgrun_guest_is_common_modes(name), let text = text(of: name) else { return }
                    names?.assumingMemoryBound(to: [GRunLoop.Mode].self).pointee.append(GRunLoop.Mode(rawValue: text))
                }, $0)
        }
        return names
    }

    /// Any thread, without a lock: a mode is common here.
    func becameCommonHere(_ mode: GRunLoop.Mode) {
        mode.rawValue.withCString {
            // Core Foundation ends the process if it cannot make a mode for want of a descriptor.
            guard GRunLoop.hasDescriptorsLeft, let name = cgrun_guest_string($0) else { return }
            cgrun_guest_add_common_mode(address, name)
            cgrun_guest_release(name)
        }
        meet(mode)
    }
}

/// Nil of an empty one, which none of our modes has.
private func text(of name: UnsafeRawPointer) -> String? {
    guard let text = cgrun_guest_copy_text(name) else { return nil }
    defer { free(text) }
    let string = String(cString: text)
    return string.isEmpty ? nil : string
}
