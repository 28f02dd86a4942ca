// SPDX-License-Identifier: Apache-2.0
// Limits the resources that received messages hold. There is a limit for each peer, and a limit for all peers of a port
// together.

import GRunLoop

/// The resources that messages hold in the receiving process until they are released.
struct MessageHolding: Equatable {
    /// The number of mappings of senders' memory, and the bytes of address space that these mappings use.
    var memories = 0
    var bytes = 0
    var descriptors = 0

    static func += (sum: inout Self, other: Self) {
        sum.memories += other.memories
        sum.bytes += other.bytes
        sum.descriptors += other.descriptors
    }

    static func -= (sum: inout Self, other: Self) {
        sum.memories -= other.memories
        sum.bytes -= other.bytes
        sum.descriptors -= other.descriptors
    }

    /// Returns whether any of the counts has reached its limit.
    func reaches(_ limit: Self) -> Bool {
        memories >= limit.memories || bytes >= limit.bytes || descriptors >= limit.descriptors
    }
}

/// The resources that the messages of all peers of a port hold. Threads: any.
final class MessageHoldings: @unchecked Sendable {
    /// The limits for all peers of a port. By default, a process can have 65,530 mappings, 128 TiB of address space,
    /// and often 1,024 descriptors.
    fileprivate static let most = MessageHolding(memories: 8192, bytes: 64 << 30, descriptors: 512)

    fileprivate let lock = Lock.take()
    @exclusivity(unchecked) fileprivate var state = State()

    /// Guarded by the lock.
    fileprivate struct State {
        var held = MessageHolding()
        /// The peers from which the port does not read at present, each with the closure that resumes reading.
        var paused: [ObjectIdentifier: (allowance: MessageAllowance, goOn: @Sendable () -> Void)] = [:]

        /// Returns the peers from which the port may read again, and removes them from `paused`.
        mutating func takeResumed() -> [(allowance: MessageAllowance, goOn: @Sendable () -> Void)] {
            let resumed = paused.filter { !$0.value.allowance.isUsedUpLocked(held) }
            for key in resumed.keys { paused[key] = nil }
            return Array(resumed.values)
        }
    }

    deinit { Lock.giveBack(lock) }
}

/// The resources that the messages of one peer hold. A peer whose messages hold nothing may always send one message of
/// any size. Threads: any.
final class MessageAllowance: @unchecked Sendable {
    fileprivate static let most = MessageHolding(memories: 1024, bytes: 4 << 30, descriptors: 64)

    private let holdings: MessageHoldings
    /// Guarded by the lock of the holdings.
    @exclusivity(unchecked) private var held = MessageHolding()

    init(of holdings: MessageHoldings) { self.holdings = holdings }

    func add(_ holding: MessageHolding) {
        guard !Fork.isChild else { return }
        holdings.lock.withLock {
            held += holding
            holdings.state.held += holding
        }
    }

    /// Removes released resources from the count. Call this function without the lock of a connection, because it takes
    /// the locks of the connections that it resumes.
    func remove(_ holding: MessageHolding) {
        guard !Fork.isChild else { return }
        let resumed = holdings.lock.withLock {
            held -= holding
            holdings.state.held -= holding
            return holdings.state.paused.isEmpty ? [] : holdings.state.takeResumed()
        }
        for peer in resumed { peer.goOn() }
    }

    /// Returns true if the port must stop reading from the peer until messages are released. In that case, the thread
    /// that releases enough messages later calls `goOn` once.
    func isUsedUp(goOn: @escaping @Sendable () -> Void) -> Bool {
        holdings.lock.withLock {
            guard isUsedUpLocked(holdings.state.held) else { return false }
            holdings.state.paused[ObjectIdentifier(self)] = (self, goOn)
            return true
        }
    }

    fileprivate func isUsedUpLocked(_ all: MessageHolding) -> Bool {
        held.reaches(Self.most) || held != MessageHolding() && all.reaches(MessageHoldings.most)
    }
}
