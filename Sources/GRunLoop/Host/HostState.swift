// SPDX-License-Identifier: Apache-2.0
// Where the endless run of a host is that iterates the home context, beyond what every run has.

/// Guarded by the loop's lock.
struct HostState {
    /// The modes that were pushed as the ambient one, the current one last. Modes live as long as their loop: no
    /// reference to one is counted here.
    private(set) var pushed: [(token: GRunLoop.PushedMode, mode: Unmanaged<ModeState>)] = []
    private let first: Unmanaged<ModeState>
    /// The mode in which a host is served.
    var ambient: Unmanaged<ModeState> { pushed.isEmpty ? first : pushed[pushed.count - 1].mode }
    /// The same.
    var ambientMode: ModeState { ambient.takeUnretainedValue() }
    /// Of a pending tail: the mode in which the head of its pass has found nothing to do.
    var waitMode: Unmanaged<ModeState>
    /// The mode whose observers were told beforeWaiting, and not yet afterWaiting. Not the stage's: a foreign
    /// loop in a callout may return between the two, and the callout's pass goes on.
    private(set) var toldMode: Unmanaged<ModeState>?
    /// The modes of earlier waits that are not over, the first one first. A nested loop in an observer of beforeWaiting
    /// was left in its sleep, and the host's own wait was announced afterwards.
    private var earlierToldModes: [Unmanaged<ModeState>] = []
    /// A turn of idle work that goes on when the host has looked again.
    var idleTurn: IdleTurn?
    /// The hub was taken out of this context, which is the home context still.
    var detachedFrom: OpaquePointer?

    /// The host's poll was, or will be, interrupted only to change its timeout or its poll set: that is no wake-up.
    var isRearmed = false

    /// What the host's poll has found ready, so that the dispatch that follows need not ask the kernel again. Nil if
    /// the host did not poll, and once a run begins.
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

    /// Returns whether it was pushed.
    mutating func pop(_ token: GRunLoop.PushedMode) -> Bool {
        guard let index = pushed.lastIndex(where: { $0.token === token }) else { return false }
        pushed.remove(at: index)
        return true
    }

    /// Returns what was pushed. Each holds the loop.
    mutating func popAll() -> [GRunLoop.PushedMode] {
        defer { pushed = [] }
        return pushed.map(\.token)
    }

    mutating func noteTold(_ mode: ModeState) {
        if let toldMode { earlierToldModes.append(toldMode) }
        toldMode = .passUnretained(mode)
        idleTurn = nil
    }

    /// The last wait, and before it the earlier ones. Nil if no wait was told of.
    mutating func takeTold() -> (mode: ModeState, earlier: [Unmanaged<ModeState>])? {
        guard let mode = toldMode.take() else { return nil }
        defer { if !earlierToldModes.isEmpty { earlierToldModes = [] } }
        return (mode.takeUnretainedValue(), earlierToldModes)
    }
}
