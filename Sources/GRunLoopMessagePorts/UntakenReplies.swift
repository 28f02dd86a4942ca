// SPDX-License-Identifier: Apache-2.0
// Counts the replies of a message port that its peers have not taken, and limits them.

import GRunLoop
import Glibc

/// Counts the replies that each process has not taken, over all connections of the process.
///
/// The cost of a reply is its number of bytes, but at most 16 MiB, so that a larger reply can be sent alone. Processes
/// of other PID namespaces count as one process. Threads: any.
final class UntakenReplies: @unchecked Sendable {
    /// The largest number of bytes of memory that were sent to one process and not taken. The kernel's queue counts
    /// only the descriptors of the memory, not its bytes.
    static let mostSent = 16 << 20
    /// The largest numbers of bytes, replies and descriptors that wait for one process, in the queues of its
    /// connections.
    static let (mostWaiting, mostReplies, mostDescriptors) = (64 << 20, 1024, 64)
    /// The largest number of bytes for all processes together, sent and waiting. At this limit, each process may still
    /// have one reply in memory that was sent, and one reply that waits.
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

    /// A reply that waits in the queue of a connection.
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
        /// The connections whose peers have not taken all memory, as of the last recount.
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

    /// Adds `change` to the number of connections of a process: 1 for a new connection, -1 for a closed connection.
    func count(_ change: Int, of process: pid_t) {
        lock.withLock { state.update(process) { $0.connections += change } }
    }

    enum Admission { case admitted, refused, refusedByAll }

    /// Counts memory that is to be sent to a process, unless a limit would be exceeded.
    func admit(_ cost: Int, to process: pid_t) -> Admission {
        lock.withLock {
            let sent = state.processes[process]?.sent ?? 0
            guard sent + cost <= Self.mostSent else { return .refused }
            guard sent == 0 || state.total + cost <= Self.mostOfAll else { return .refusedByAll }
            state.update(process) { $0.sent += cost }
            return .admitted
        }
    }

    /// Removes memory from the count, because the process has taken the memory or the memory was not sent.
    func remove(_ cost: Int, of process: pid_t) { lock.withLock { state.update(process) { $0.sent -= cost } } }

    /// Counts a reply that must wait in a queue, unless a limit would be exceeded.
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

    /// Removes a waiting reply from the count, because it was sent or dropped.
    func remove(_ reply: Waiting, for process: pid_t) { lock.withLock { state.update(process) { $0.add(reply, -1) } } }

    /// Records whether a connection has sent memory that its peer has not taken yet.
    func note(_ connection: MessageConnection, isUntaken: Bool) {
        lock.withLock { state.senders[connection.number] = isUntaken ? connection : nil }
    }

    /// Recounts the untaken memory of the connections of a process, because the peers may have taken memory. If
    /// `process` is nil, recounts all connections. Call this function without any lock held.
    func recount(of process: pid_t? = nil) {
        let senders = lock.withLock { Array(state.senders.values) }
        for connection in senders where process == nil || connection.process == process { connection.recount() }
    }

    /// The sum of all counted bytes, for tests.
    var total: Int { lock.withLock { state.total } }
}
