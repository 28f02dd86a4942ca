// SPDX-License-Identifier: Apache-2.0
// Where a run is in its pass.

/// The stage of a run, ours or the host's endless one. Where a host drives, its wait lies between two dispatches, so
/// the stage outlives a dispatch.
///
///     call            from            to        when
///     enter           outside         head      the host's run begins: entry
///     beginHead       any             head      2: a pass begins
///     wait            head, tail      waiting   the head, or the tail after a spurious dispatch, has nothing to do
///     tell            waiting         told      7: beforeWaiting was sent, and the wait is the host's
///     beginTail       any             tail      9, 10: the wait is over
///     lend            head, tail      lent      a callout runs a foreign loop, or a dispatch ends before its pass does
///     leave           any             outside   the host's run has ended: exit
///
/// A run of ours begins in its head, and sleeps there.
enum Stage: UInt8 {
    case outside, waiting, told, lent, head, tail

    mutating func beginHead() { self = .head }
    mutating func beginTail() { self = .tail }
    mutating func enter() { self = .head }
    mutating func wait() { self = .waiting }
    mutating func tell() { self = .told }
    mutating func lend() { self = .lent }
    mutating func leave() { self = .outside }

    /// Not in the tail: another pass comes before the next sleep anyway (item 70).
    var countsWakeUps: Bool { self != .tail }
    /// The host waits, and the tail of the pass follows.
    @inline(__always) var isPending: Bool { self == .waiting || self == .told }
    /// A pass is under way, and no foreign loop inside it.
    var isInPass: Bool { rawValue >= Stage.head.rawValue }
}
