// SPDX-License-Identifier: Apache-2.0
// Where the endless run of a host is that iterates the home context, beyond what every run has.

/// Guarded by the loop's lock.
struct HostState {
    /// The mode in which a host is served. Modes live as long as their loop: no reference to one is counted here.
    var ambient: Unmanaged<ModeState>
    /// The same.
    var ambientMode: ModeState { ambient.takeUnretainedValue() }
    /// What was pushed as such, the current one last.
    var ambientStack: [GRunLoop.PushedMode] = []
    /// Of a pending tail: the mode in which the head of its pass has found nothing to do.
    var waitMode: Unmanaged<ModeState>
    /// The mode whose observers were told beforeWaiting, and not yet afterWaiting. Not the stage's: a callout may leave
    /// a foreign loop while that sleeps, and its pass goes on.
    var toldMode: Unmanaged<ModeState>?
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
        ambient = .passUnretained(ambientMode)
        waitMode = ambient
    }
}
