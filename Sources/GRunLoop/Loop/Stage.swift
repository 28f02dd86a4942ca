// SPDX-License-Identifier: Apache-2.0
// Where a run is in its pass.

/// The stage of a run, ours or the host's endless one. Where a host drives, its wait lies between two dispatches, so
/// the stage outlives a dispatch.
///
///     call            from            to        when
///     enter           outside         head      the host's run begins: entry
///     beginHead       any             head      2: a pass begins
///     wait            head, tail      waiting   the head, or the tail after a spurious dispatch, has nothing to do
///     beginTelling    waiting         telling   7: beforeWaiting is being sent
///     beginWaking     waiting         woken     9: afterWaiting is being sent
///                     all others      tail      the same, of a wait that a foreign loop inside the pass has left
///     beginTail       any             tail      9, 10: the wait is over
///     lend            telling, woken  waiting   a callout runs a foreign loop: the tail is pending still
///                     head, tail      lent      the same, or a dispatch ends before its pass does
///     leave           any             outside   the host's run has ended: exit
///
/// A run of ours begins in its head, and sleeps there.
enum Stage: UInt8 {
    case outside, waiting, lent, telling, head, tail, woken

    mutating func beginHead() { self = .head }
    mutating func beginTail() { self = .tail }
    mutating func enter() { self = .head }
    mutating func wait() { self = .waiting }
    mutating func beginTelling() { self = .telling }
    mutating func beginWaking() { self = isPending ? .woken : .tail }
    mutating func lend() { self = isPending ? .waiting : .lent }
    mutating func leave() { self = .outside }

    /// Not in the tail: another pass comes before the next sleep anyway (item 70).
    var countsWakeUps: Bool { rawValue < Stage.tail.rawValue }
    /// The wait is the host's, and the tail of the pass follows.
    var isPending: Bool { self == .waiting || self == .telling || self == .woken }
    /// A pass is under way, and no foreign loop inside it.
    var isInPass: Bool { rawValue >= Stage.telling.rawValue }
}
