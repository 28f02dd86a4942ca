// SPDX-License-Identifier: Apache-2.0
// Which players were called, how often, and how long each waited for the others.

import TestSupport

/// The accounts of a cell. Used on the main thread only.
final class Ledger: @unchecked Sendable {
    /// The account of one player.
    struct Account {
        var turns = 0
        /// How often the player was called after others.
        var returns = 0
        /// The greatest number of the others' items between two of its own.
        var longestRow = 0
        /// The longest processor time between the first of those items and its own.
        var longestGap: Int64 = 0

        fileprivate var row = 0
        /// When the first of the others was called; -1 if none was.
        fileprivate var start: Int64 = -1
    }

    private(set) var accounts: [Account]
    private(set) var calls = 0
    /// Whether the drive is over. Later calls do nothing and prepare no successor.
    private(set) var isDone = false
    /// Whether the measured drive has not begun. Callouts do nothing then, but prepare their successors.
    var isWaiting = false
    /// Ends the drive.
    var stop: () -> Void = {}

    private let loads: [Load]
    private let rounds: Int
    private let limit: Int64
    private var last = -1

    /// - Parameter rounds: how often each player must have its turn again.
    /// - Parameter limit: a player that waits for this much processor time is starved.
    init(_ loads: [Load], rounds: Int, limit: Int64) {
        accounts = loads.map { _ in Account() }
        self.loads = loads
        self.rounds = rounds
        self.limit = limit
    }

    /// Player `index` is called. Returns false if the drive is over.
    func call(_ index: Int) -> Bool {
        guard !isDone else { return false }
        calls += 1
        guard !isWaiting else { return true }
        if index != last { change(to: index) }
        accounts[index].turns += 1
        for other in accounts.indices where other != index { accounts[other].row += 1 }
        loads[index].work()
        let isTimeToLook = loads[index] != .none || calls & 31 == 0
        if isTimeToLook && isAnyoneStarved || accounts.allSatisfy({ $0.returns >= rounds }) { finish() }
        return !isDone
    }

    private func change(to index: Int) {
        last = index
        let now = threadProcessorNanoseconds()
        for other in accounts.indices where other != index && accounts[other].start < 0 { accounts[other].start = now }
        guard accounts[index].start >= 0 else { return }
        accounts[index].returns += 1
        settle(index, at: now)
        accounts[index].row = 0
        accounts[index].start = -1
    }

    private func settle(_ index: Int, at now: Int64) {
        accounts[index].longestRow = max(accounts[index].longestRow, accounts[index].row)
        accounts[index].longestGap = max(accounts[index].longestGap, now - accounts[index].start)
    }

    private var isAnyoneStarved: Bool {
        let now = threadProcessorNanoseconds()
        return accounts.contains { $0.start >= 0 && now - $0.start > limit }
    }

    /// Ends the drive. The present waits count as well, although they are not over.
    func finish() {
        guard !isDone else { return }
        isDone = true
        let now = threadProcessorNanoseconds()
        for index in accounts.indices where accounts[index].start >= 0 { settle(index, at: now) }
        stop()
    }
}
