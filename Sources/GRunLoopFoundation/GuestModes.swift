// SPDX-License-Identifier: Apache-2.0
// Serves the modes of Foundation's run loop, and keeps the common modes of both loops in sync.

import CGRunFoundation
import GRunLoop
import Glibc

extension Guest {
    /// The result of the search for a mode's epoll.
    enum Finding {
        case watched
        /// Core Foundation does not have the mode. The library does not create the mode, because a program that asks
        /// Core Foundation for all modes would see it.
        case absent
        case notAnEpoll
        /// No descriptor or memory is left, so the search must be repeated later.
        case exhausted
    }

    /// Returns the mode of this name, and begins to serve this mode if necessary. The loop's thread searches the mode's
    /// epoll later, because the caller may hold a lock of Foundation. Returns nil for the name of the common modes, if
    /// there is no memory left, or if serving has ended. Threads: any.
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
        // If another thread signalled the source before the source was in the loop, that thread's wake-up had no
        // effect.
        _ = new.owe(quietly: false)
        new.source.signal()
        loop.wakeUp()
        return new
    }

    /// Finds and watches the mode's epoll. Until this function succeeds, Core Foundation itself sleeps in the mode.
    /// Threads: the loop's own thread.
    @discardableResult func complete(_ mode: GuestMode) -> Finding {
        let finding = find(mode)
        if finding == .exhausted { retry(mode) }
        return finding
    }

    private func find(_ mode: GuestMode) -> Finding {
        if mode.isWatched { return isCommonHere(mode) ? .watched : .exhausted }
        guard !mode.hasNoEpoll, let items else { return .notAnEpoll }
        guard mode.mode == .default || coreFoundationModes().contains(mode.mode) else { return .absent }
        if cgrun_guest_is_common(address, mode.name) { mode.lacksCommon.store(true, ordering: .relaxed) }
        guard isCommonHere(mode) else { return .exhausted }
        items.add(to: mode)
        switch cgrun_guest_find_epoll(address, mode.name) {
        case -2: return .exhausted
        case -1:
            mode.hasNoEpoll = true
            return .notAnEpoll
        case let epoll:
            do { try mode.watch(epoll, in: loop) { [weak self] in self?.serve($0) } } catch { return .exhausted }
            return .watched
        }
    }

    /// Makes a mode common in our loop if it is common in Core Foundation's loop. When the mode is common in our loop,
    /// our runs of this mode also drain the main queue. Returns false if the mode cannot be made common in our loop.
    private func isCommonHere(_ mode: GuestMode) -> Bool {
        guard mode.lacksCommon.load(ordering: .relaxed) else { return true }
        do { try loop.addCommonMode(mode.mode) } catch { return false }
        mode.lacksCommon.store(false, ordering: .relaxed)
        return true
    }

    /// Serves the mode again after a second, because no descriptor is left. That pass repeats the search for the epoll.
    private func retry(_ mode: GuestMode) {
        guard !mode.isRetryScheduled else { return }
        mode.isRetryScheduled = true
        loop.perform(after: .seconds(1), inModes: [mode.mode]) { [weak self] in
            mode.isRetryScheduled = false
            self?.serve(mode)
        }
    }

    func takeModes() -> [GuestMode] {
        var ended: [GRunLoop.Mode: GuestMode]?
        modes.withLock { swap(&$0, &ended) }
        return ended.map { Array($0.values) } ?? []
    }

    var watchedModes: [GuestMode] { modes.withLock { $0?.values.filter(\.isWatched) ?? [] } }

    /// The mode that Core Foundation runs now; nil if Core Foundation runs no mode, or runs a mode that our loop does
    /// not serve.
    func currentMode() -> GuestMode? {
        guard let name = cgrun_guest_copy_current_mode(address) else { return nil }
        defer { cgrun_guest_release(name) }
        return knownMode(name)
    }

    func knownMode(_ name: UnsafeRawPointer) -> GuestMode? {
        if cgrun_guest_is_default_mode(name) { return modes.withLock { $0?[.default] } }
        return text(of: name).flatMap { name in modes.withLock { $0?[GRunLoop.Mode(rawValue: name)] } }
    }

    /// The mode that Core Foundation is about to run; nil if Core Foundation does not have this mode. Threads: the
    /// loop's own thread.
    func modeToRun(_ name: UnsafeRawPointer?) -> GuestMode? {
        guard let name else { return nil }
        if let mode = knownMode(name) { return mode }
        return names(in: name).first { coreFoundationModes().contains($0) }.flatMap { meet($0) }
    }

    /// All modes of Core Foundation's loop. Threads: any thread that holds no lock of Foundation.
    func coreFoundationModes() -> [GRunLoop.Mode] {
        guard let all = cgrun_guest_copy_modes(address) else { return [] }
        defer { cgrun_guest_release(all) }
        return names(in: all)
    }

    /// Returns the mode names in a CFString, a CFArray or a CFSet, except the name of the common modes.
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

    /// Makes a mode common in Core Foundation's loop, because it has become common in our loop. Threads: any thread
    /// that holds no lock.
    func didBecomeCommonInOurLoop(_ mode: GRunLoop.Mode) {
        mode.rawValue.withCString {
            // If no descriptor is left, do nothing. Otherwise Core Foundation would fail to create the mode, and end
            // the process.
            guard GRunLoop.hasDescriptorsLeft, let name = cgrun_guest_string($0) else { return }
            cgrun_guest_add_common_mode(address, name)
            cgrun_guest_release(name)
        }
        meet(mode)
    }
}

/// The text of a string of Core Foundation; nil if the string is empty, because no mode of ours has an empty name.
private func text(of name: UnsafeRawPointer) -> String? {
    guard let text = cgrun_guest_copy_text(name) else { return nil }
    defer { free(text) }
    let string = String(cString: text)
    return string.isEmpty ? nil : string
}
