// SPDX-License-Identifier: Apache-2.0
// Counts the replies of a message port that its peers have not taken, and limits them.

import Glibc

/// Counts for each process, however many connections it has. A reply counts with its bytes, and with 16 MiB at most: a
/// larger one may be under way alone. Processes of other namespaces count as one. Threads: any.
final class UntakenReplies: @unchecked Sendable {
    /// Bytes of memory that was sent to a process and not taken. The kernel's queue counts the descriptors only.
    static let mostSent = 16 << 20
    /// Bytes, replies and descriptors that wait in our own queues for a process.
    static let (mostWaiting, mostReplies, mostDescriptors) = (64 << 20, 1024, 64)
    /// Bytes of both for all processes. Beyond that each process may still have one reply.
    static let mostOfAll = 256 << 20

    private struct Process {
        var connections = 0
        var sent = 0
        var waiting = 0
        var replies = 0
        var descriptors = 0

        var total: Int { sent + waiting }
        var isNothing: Bool { connections == 0 && total == 0 && replies == 0 }

        mutating func add(_ reply: Waiting, _ sign: Int) {
            waiting += sign * reply.cost
            replies += sign
            descriptors += sign * reply.descriptors
        }
    }

    /// A reply in a connection's own queue.
    struct Waiting {
        let cost: Int
        let descriptors: Int
    }

    private let lock = Lock.take()
    @exclusivity(unchecked) private var state = State()

    /// Guarded by the lock.
    private struct State {
        var processes: [pid_t: Process] = [:]
        var total = 0
        /// Those whose peers have not taken all memory, as far as is known.
        var senders: [UInt64: MessageConnection] = [:]

        mutating func update(_ process: pid_t, _ change: (inout Process) -> Void) {
            var counted = processes[process] ?? Process()
            total -= counted.total
            change(&counted)
            total += counted.total
            processes[process] = counted.isNothing ? nil : counted
        }
    }

    deinit { Lock.giveBack(lock) }

    static func cost(_ bytes: Int) -> Int { min(bytes, mostSent) }

    /// A connection of the process has come, or has gone with what it had.
    func count(_ change: Int, of process: pid_t) {
        lock.withLock { state.update(process) { $0.connections += change } }
    }

    enum Admission { case admitted, refused, refusedByAll }

    /// Counts memory that is to be sent to a process, unless that would be too much.
    func admit(_ cost: Int, to process: pid_t) -> Admission {
        lock.withLock {
            let sent = state.processes[process]?.sent ?? 0
            guard sent + cost <= Self.mostSent else { return .refused }
            guard sent == 0 || state.total + cost <= Self.mostOfAll else { return .refusedByAll }
            state.update(process) { $0.sent += cost }
            return .admitted
        }
    }

    /// Memory that was counted was taken, or was not sent.
    func remove(_ cost: Int, of process: pid_t) { lock.withLock { state.update(process) { $0.sent -= cost } } }

    /// Counts a reply that is to wait, unless that would be too much.
    func admit(_ reply: Waiting, for process: pid_t) -> Bool {
        lock.withLock {
            let former = state.processes[process] ?? Process()
            guard former.waiting + reply.cost <= Self.mostWaiting,
                former.waiting == 0 || state.total + reply.cost <= Self.mostOfAll,
                former.replies < Self.mostReplies,
                former.descriptors + reply.descriptors <= Self.mostDescriptors
            else { return false }
            state.update(process) { $0.add(reply, 1) }
            return true
        }
    }

    /// A reply that was counted does not wait any more.
    func remove(_ reply: Waiting, for process: pid_t) { lock.withLock { state.update(process) { $0.add(reply, -1) } } }

    /// Whether memory that was sent by a connection was not taken yet.
    func note(_ connection: MessageConnection, isUntaken: Bool) {
        lock.withLock { state.senders[connection.number] = isUntaken ? connection : nil }
    }

    /// Asks the kernel for each connection of a process, or of all. Without any lock held.
    func recount(of process: pid_t? = nil) {
        let senders = lock.withLock { Array(state.senders.values) }
        for connection in senders where process == nil || connection.process == process { connection.recount() }
    }

    /// All bytes that are counted, for tests.
    var total: Int { lock.withLock { state.total } }
}
