// SPDX-License-Identifier: Apache-2.0
// The state of a loop that concerns a host.

/// The state of a loop that concerns a host: the endless run, the ambient modes, and the host's poll with its result.
/// Every loop has this state, even without a host. Guarded by the loop's lock.
struct HostState {
    /// The endless run that a host drives while the loop is attached.
    let run = Run(isHosted: true)
    /// An unused frame, which saves the next dispatch an allocation. Used on the loop's thread only.
    var spareFrame: Frame?
    var poll = HostPoll()
    /// The modes that are pushed as the ambient mode; the last mode in the array is current. Not retained, because
    /// modes live as long as their loop.
    private(set) var pushed: [(token: GRunLoop.PushedMode, mode: Unmanaged<ModeState>)] = []
    private let first: Unmanaged<ModeState>
    /// The mode in which a host serves the loop.
    var ambient: Unmanaged<ModeState> { pushed.isEmpty ? first : pushed[pushed.count - 1].mode }
    var ambientMode: ModeState { ambient.takeUnretainedValue() }
    /// The mode of the host's last pass. Valid only while the tail of that pass is pending.
    var waitMode: Unmanaged<ModeState>
    /// The mode whose observers were sent beforeWaiting, and not yet afterWaiting; nil if there is none. The stage of
    /// the run does not show this, because a foreign loop in a callout may return between the two notices.
    private(set) var announcedMode: Unmanaged<ModeState>?
    /// The modes of earlier waits whose afterWaiting is still due, in the order of the waits. An observer of
    /// beforeWaiting may run a foreign loop, during which this loop sends another beforeWaiting. If the foreign loop
    /// returns before this wait's afterWaiting, the earlier wait's mode is in this array.
    private var earlierAnnouncedModes: [Unmanaged<ModeState>] = []
    /// The unfinished turn of an idle queue; nil if there is none. The turn continues after the host has checked its
    /// own sources.
    var idleTurn: IdleTurn?
    /// The context from which the loop was detached, retained for `attach()`. Nil unless the loop is detached.
    var detachedFrom: OpaquePointer?

    /// True if the host's poll was or will be interrupted only to change its timeout or its poll set. Such an
    /// interruption is not a wake-up.
    var isRearmed = false

    /// The result of the host's last poll, so that the next dispatch need not ask the kernel again. Nil once that
    /// dispatch has used the result, or once a run without a host has begun.
    var polled: Polled?

    struct Polled {
        let descriptors: Bool
        let mainQueue: Bool
    }

    init(ambientMode: ModeState) {
        first = .passUnretained(ambientMode)
        waitMode = first
    }

    /// Returns a number that is not 0, and that no pushed mode of the loop has.
    func unusedID() -> UInt32 {
        var id: UInt32
        repeat {
            id = GRunLoop.PushedMode.lastID.wrappingAdd(1, ordering: .relaxed).newValue
        } while id == 0 || pushed.contains { $0.token.id == id }
        return id
    }

    mutating func push(_ token: GRunLoop.PushedMode, _ mode: ModeState) {
        pushed.append((token, .passUnretained(mode)))
    }

    /// Pops the mode of a token. Returns false if that mode was popped before.
    mutating func pop(_ token: GRunLoop.PushedMode) -> Bool {
        guard let index = pushed.lastIndex(where: { $0.token === token }) else { return false }
        pushed.remove(at: index)
        return true
    }

    /// Pops all modes, and returns their tokens. The caller releases the tokens without the lock, because each token
    /// retains the loop.
    mutating func popAll() -> [GRunLoop.PushedMode] {
        defer { pushed = [] }
        return pushed.map(\.token)
    }

    mutating func noteAnnounced(_ mode: ModeState) {
        if let announcedMode { earlierAnnouncedModes.append(announcedMode) }
        announcedMode = .passUnretained(mode)
        idleTurn = nil
    }

    /// Returns and clears the modes of all waits whose afterWaiting is due; nil if there are none.
    mutating func takeAnnounced() -> (mode: ModeState, earlier: [Unmanaged<ModeState>])? {
        guard let mode = announcedMode.take() else { return nil }
        defer { if !earlierAnnouncedModes.isEmpty { earlierAnnouncedModes = [] } }
        return (mode.takeUnretainedValue(), earlierAnnouncedModes)
    }
}
