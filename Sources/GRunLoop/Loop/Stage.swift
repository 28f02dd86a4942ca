// SPDX-License-Identifier: Apache-2.0
// The stage of a run, which is its position in the current pass.

/// The position of a run in its pass. If a host drives, the host waits between two dispatches, so the stage outlives a
/// dispatch.
///
///     call             from                to          when
///     beginHead        any                 head        2: a pass begins; entry of the host's run
///     wait             head, suspended,    waiting     the head has nothing to do, so the host waits; or a dispatch
///                      waiting, woken                  has found nothing for the tail
///     beginAnnouncing  waiting             announcing  7: beforeWaiting is being sent
///     beginWaking      waiting,            woken       9: afterWaiting is being sent
///                      announcing, woken
///                      all others          tail        9: afterWaiting is being sent, for a foreign loop that has
///                                                      returned
///     endNotice        announcing, woken   waiting     beforeWaiting or afterWaiting was sent, and the wait goes on
///     beginTail        any                 tail        9, 10: the wait is over; exit of the host's run
///     suspend          announcing, woken   waiting     a callout runs a foreign loop; the tail is still pending
///                      head, tail          suspended   a callout runs a foreign loop, or a dispatch ends before its
///                                                      pass does
///     leave            any                 outside     the host's run has ended
///
/// A run without a host begins in `head`, and also sleeps in `head`.
enum Stage: UInt8 {
    // The order of the cases matters, because `countsWakeUps` and `isInPass` compare raw values.
    case outside, waiting, suspended, announcing, head, tail, woken

    mutating func beginHead() { self = .head }
    mutating func endNotice() { if self == .announcing || self == .woken { self = .waiting } }
    mutating func beginTail() { self = .tail }
    mutating func wait() { self = .waiting }
    mutating func beginAnnouncing() { self = .announcing }
    mutating func beginWaking() { self = isPending ? .woken : .tail }
    mutating func suspend() { self = isPending ? .waiting : .suspended }
    mutating func leave() { self = .outside }

    /// Whether a wake-up has an effect in this stage. From afterWaiting to the end of the pass, a wake-up has no
    /// effect, because another pass comes before the next sleep anyway (item 70).
    var countsWakeUps: Bool { rawValue < Stage.tail.rawValue }
    /// True if the host waits and the tail of the pass has not run yet.
    var isPending: Bool { self == .waiting || self == .announcing || self == .woken }
    /// True if a pass is under way and is not suspended. A foreign loop in a callout suspends the pass.
    var isInPass: Bool { rawValue >= Stage.announcing.rawValue }
}
