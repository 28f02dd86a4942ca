// SPDX-License-Identifier: Apache-2.0
// Everything that a loop knows of a host.

/// Everything that a loop knows of the host that drives it, or may: the host's endless run, the ambient modes, the
/// host's poll, and what the poll has found. Guarded by the loop's lock.
struct HostState {
    /// The endless run that a host drives, as long as the loop is attached.
    let run = Run(isHosted: true)
    /// A frame for the next dispatch, which need not allocate one. The loop's thread only.
    var spareFrame: Frame?
    /// The descriptors and contexts that the host's poll watches for the loop.
    var poll = HostPoll()
    /// The modes that were pushed as the ambient mode, the current one last. No mode is retained here, because modes
    /// live as long as their loop.
    private(set) var pushed: [(token: GRunLoop.PushedMode, mode: Unmanaged<ModeState>)] = []
    private let first: Unmanaged<ModeState>
    /// The mode in which the loop is served under a host: the mode that was pushed last, or the default mode if none is
    /// pushed.
    var ambient: Unmanaged<ModeState> { pushed.isEmpty ? first : pushed[pushed.count - 1].mode }
    /// The same mode, as a strong reference.
    var ambientMode: ModeState { ambient.takeUnretainedValue() }
    /// The mode of the last head that found nothing to do. Only valid while the tail of its pass is pending.
    var waitMode: Unmanaged<ModeState>
    /// The mode whose observers have got beforeWaiting, and not yet afterWaiting; nil if there is none. The stage
    /// cannot hold this. A foreign loop in a callout may return between the two notices, and the pass of the callout
    /// goes on.
    private(set) var announcedMode: Unmanaged<ModeState>?
    /// The modes of earlier waits whose afterWaiting is still to be sent, the earliest first. This happens if an
    /// observer of beforeWaiting runs a nested loop that announces a wait and then ends before the wait is over.
    private var earlierAnnouncedModes: [Unmanaged<ModeState>] = []
    /// The turn of an idle queue that goes on once the host has checked its sources again; nil if there is none.
    var idleTurn: IdleTurn?
    /// The context that the loop was detached from, which is retained. `attach()` makes it the home context again. Nil
    /// unless the loop is detached.
    var detachedFrom: OpaquePointer?

    /// True if the host's poll was, or will be, interrupted only to change its timeout or its poll set. That is not a
    /// wake-up.
    var isRearmed = false

    /// The result of the host's last poll, so that the dispatch that follows need not ask the kernel again. Nil if the
    /// host has not polled since the last dispatch, and once a run of ours begins.
    var polled: Polled?

    struct Polled {
        let descriptors: Bool
        let mainQueue: Bool
    }

    init(ambientMode: ModeState) {
        first = .passUnretained(ambientMode)
        waitMode = first
    }

    mutating func push(_ token: GRunLoop.PushedMode, _ mode: ModeState) {
        pushed.append((token, .passUnretained(mode)))
    }

    /// Removes a pushed mode. Returns false if it is not pushed any more.
    mutating func pop(_ token: GRunLoop.PushedMode) -> Bool {
        guard let index = pushed.lastIndex(where: { $0.token === token }) else { return false }
        pushed.remove(at: index)
        return true
    }

    /// Removes all pushed modes, and returns them. The caller releases them without the lock, because each holds the
    /// loop.
    mutating func popAll() -> [GRunLoop.PushedMode] {
        defer { pushed = [] }
        return pushed.map(\.token)
    }

    mutating func noteAnnounced(_ mode: ModeState) {
        if let announcedMode { earlierAnnouncedModes.append(announcedMode) }
        announcedMode = .passUnretained(mode)
        idleTurn = nil
    }

    /// Takes the modes of all waits whose afterWaiting is due: the mode of the last wait, and those of the earlier
    /// waits. Returns nil if there are none.
    mutating func takeAnnounced() -> (mode: ModeState, earlier: [Unmanaged<ModeState>])? {
        guard let mode = announcedMode.take() else { return nil }
        defer { if !earlierAnnouncedModes.isEmpty { earlierAnnouncedModes = [] } }
        return (mode.takeUnretainedValue(), earlierAnnouncedModes)
    }
}
