// SPDX-License-Identifier: Apache-2.0
// Where a run is in its pass.

/// The stage of a run, ours or the host's endless one. Where a host drives, its wait lies between two dispatches, so
/// the stage outlives a dispatch.
///
///     call            from            to        when
///     beginHead       any             head      2: a pass begins; entry of the host's run
///     wait            head, lent,     waiting   the head has nothing to do; the same of a tail: a spurious dispatch
///                     waiting, woken
///     beginTelling    waiting         telling   7: beforeWaiting is being sent
///     beginWaking     waiting,        woken     9: afterWaiting is being sent
///                     telling, woken
///                     all others      tail      the same, of a foreign loop that has returned from its wait
///     endNotice       telling, woken  waiting   it was sent, and the wait goes on
///     beginTail       any             tail      9, 10: the wait is over; exit of the host's run
///     lend            telling, woken  waiting   a callout runs a foreign loop: the tail is pending still
///                     head, tail      lent      the same, or a dispatch ends before its pass does
///     leave           any             outside   the host's run has ended
///
/// A run of ours begins in its head, and sleeps there.
enum Stage: UInt8 {
    // In this order: `countsWakeUps` and `isInPass` are one comparison each.
    case outside, waiting, lent, telling, head, tail, woken

    mutating func beginHead() { self = .head }
    mutating func endNotice() { if self == .telling || self == .woken { self = .waiting } }
    mutating func beginTail() { self = .tail }
    mutating func wait() { self = .waiting }
    mutating func beginTelling() { self = .telling }
    mutating func beginWaking() { self = isPending ? .woken : .tail }
    mutating func lend() { self = isPending ? .waiting : .lent }
    mutating func leave() { self = .outside }

    /// Not in the tail: another pass comes before the next sleep anyway (item 70).
    var countsWakeUps: Bool { rawValue < Stage.tail.rawValue }
    /// The wait is the host's, and the tail of the pass follows.
    var isPending: Bool { self == .waiting || self == .telling || self == .woken }
    /// A pass is under way, and it was not lent to a foreign loop since the last transition.
    var isInPass: Bool { rawValue >= Stage.telling.rawValue }
}
