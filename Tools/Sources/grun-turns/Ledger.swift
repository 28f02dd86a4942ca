// SPDX-License-Identifier: Apache-2.0
// Who was called, how often, and how long each had to wait while others were.

import TestSupport

/// The accounts of a cell. The main thread's only.
final class Ledger: @unchecked Sendable {
    /// One player's.
    struct Account {
        var turns = 0
        /// How often it was called after others were.
        var returns = 0
        /// At most so many items of others came between two of its own.
        var longestRow = 0
        /// At most so much processor time went by between the first of those and its own.
        var longestGap: Int64 = 0

        fileprivate var row = 0
        /// When the first of the others was called; -1 while none was.
        fileprivate var start: Int64 = -1
    }

    private(set) var accounts: [Account]
    private(set) var calls = 0
    /// Whoever is called from now on does nothing, and sees to no successor.
    private(set) var isDone = false
    /// What is wanted was not begun: callouts do nothing, but go on.
    var isWaiting = false
    /// Ends the drive.
    var stop: () -> Void = {}

    private let loads: [Load]
    private let rounds: Int
    private let limit: Int64
    private var last = -1

    /// - Parameter rounds: so often each is to have its turn again.
    /// - Parameter limit: whoever waits for so much processor time has lost.
    init(_ loads: [Load], rounds: Int, limit: Int64) {
        accounts = loads.map { _ in Account() }
        self.loads = loads
        self.rounds = rounds
        self.limit = limit
    }

    /// Player `index` is called. False if it is over.
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

    /// The present gaps count, however they would have gone on.
    func finish() {
        guard !isDone else { return }
        isDone = true
        let now = threadProcessorNanoseconds()
        for index in accounts.indices where accounts[index].start >= 0 { settle(index, at: now) }
        stop()
    }
}
