// SPDX-License-Identifier: Apache-2.0
// One random program: its loop, its mixture of work, and the actions in its callouts.

import CGRunGLib
import GRunLoop
import Glibc
import LoopScript
import TestSupport

/// Used on its loop's thread only. Other threads pass work through `Producers`.
final class Program: @unchecked Sendable {
    struct Settings {
        let seed: UInt64
        let isMain: Bool
        let without: Set<String>
        let isVerbose: Bool
    }

    private static let kinds: [(name: String, type: Account.Type)] = [
        ("blocks", Blocks.self), ("sources", Sources.self), ("timers", Timers.self), ("performs", Performs.self),
        ("descriptors", Descriptors.self), ("ports", Ports.self), ("channels", Channels.self),
        ("elements", Elements.self), ("idle", IdleWork.self), ("threads", ThreadPerforms.self), ("jobs", Jobs.self),
        ("glib", GLibWork.self), ("notifications", Notifications.self), ("observers", Observers.self),
        ("main-queue", MainQueueWork.self), ("control", Control.self),
    ]
    static var kindNames: [String] { kinds.map(\.name) + ["producers"] }

    let settings: Settings
    var random: SplitMix
    private(set) var loop: GRunLoop
    let modes: [GRunLoop.Mode] = [.default, GRunLoop.Mode("A"), GRunLoop.Mode("B")]
    private(set) var accounts: [Account] = []
    private var mixture: [(weight: Int, value: Int)] = []

    /// The home context, and whether a host iterates it.
    let context: OpaquePointer?
    let isHosted: Bool
    var virtualTime: GRunLoop.VirtualTime?
    /// How many actions are left.
    var budget: Int
    private let longPercent: Int
    private var longLeft = 30
    private let nestsOnceIn: Int
    private let hasFewModes: Bool

    /// The number of blocks so far, and the numbers at the beginning of each block that is being called. A run in such
    /// a block does not see older blocks.
    var blockCount = 0
    private(set) var blockStarts: [Int] = []
    var depth = 0
    /// The number of runs under way.
    var runs = 0
    var isDraining = false
    var hasEnded = false

    private static let deepestCallout = 7

    init(_ settings: Settings, isVirtual: Bool) {
        self.settings = settings
        var random = SplitMix(seed: settings.seed)
        if !settings.isMain {
            context = g_main_context_new()
            g_main_context_push_thread_default(context)
        } else {
            context = nil
        }
        loop = settings.isMain ? .main : .current
        isHosted = !isVirtual && random.chance(40)
        budget = random.number(100...350)
        longPercent = random.pick([0, 0, 3, 10, 30])
        nestsOnceIn = random.number(1...5)
        hasFewModes = random.chance(60)
        self.random = random
    }

    /// Chooses the kinds and their frequencies. In most programs two or three kinds make up most of the work.
    private func makeAccounts() {
        for (name, type) in Self.kinds where !settings.without.contains(name) {
            if name == "main-queue", !settings.isMain { continue }
            mixture.append((weight: name == "blocks" ? 8 : 3, value: accounts.count))
            accounts.append(type.init(self))
        }
        guard random.chance(75) else { return }
        for _ in 0..<random.number(1...3) {
            mixture[random.chance(40) ? 0 : random.number(0...mixture.count - 1)].weight += 40
        }
    }

    func begin() {
        makeAccounts()
        loop.timeSlice = random.pick([.milliseconds(4), .milliseconds(4), .milliseconds(4), .microseconds(100), .zero])
        if random.chance(50) { try? loop.addCommonMode(modes[2]) }
        for account in accounts { account.begin() }
        for _ in 0..<30 { act() }
    }

    // MARK: Actions

    func note(_ text: @autoclosure () -> String) {
        if settings.isVerbose { printToStandardError(String(repeating: "  ", count: depth) + text() + "\n") }
    }

    func act() {
        budget -= 1
        let account = accounts[random.pick(weighted: mixture)]
        if random.chance(15) { account.change() } else { account.act() }
    }

    /// Returns the modes of one item: often the default mode alone, sometimes several modes.
    func someModes() -> [GRunLoop.Mode] {
        switch random.pick(hasFewModes ? [0, 0, 0, 1, 2] : [0, 0, 1, 2, 3, 4, 5]) {
        case 0: [.default]
        case 1: [.common]
        case 2: [modes[random.number(1...2)]]
        case 3: [.default, modes[1]]
        case 4: [.common, modes[2]]
        default: modes
        }
    }

    /// Wraps everything that the loop calls. It may act, take long, and run the loop.
    func callout(_ name: String, _ body: () -> Void = {}) {
        if hasEnded { Findings.add("\(name): called after the end") }
        note(name)
        depth += 1
        defer { depth -= 1 }
        body()
        if longLeft > 0, random.chance(longPercent) { beBusy() }
        for _ in 0..<random.number(0...(isDraining ? 1 : 3)) where budget > 0 { act() }
        if depth < Self.deepestCallout, random.number(1...(isDraining ? 12 : nestsOnceIn)) == 1 { nest() }
    }

    func calloutOfBlock(_ name: String) {
        blockStarts.append(blockCount)
        callout(name)
        blockStarts.removeLast()
    }

    /// Works longer than a slice.
    private func beBusy() {
        longLeft -= 1
        let end = ContinuousClock.now.advanced(by: .microseconds(random.number(5000...8000)))
        while ContinuousClock.now < end {}
    }

    private func nest() {
        let mode = hasFewModes && random.chance(80) ? .default : random.pick(modes)
        if isHosted, random.chance(20) {
            g_main_context_iteration(context, 0)
        } else {
            run(mode, for: random.pick([.zero, .zero, .microseconds(300), .milliseconds(1)]))
        }
        note("end of the nested run")
    }

    func run(_ mode: GRunLoop.Mode, for span: Duration) {
        runs += 1
        let returns = random.chance(40)
        note("run \(mode) for \(span)\(returns ? ", a source" : "")")
        _ = loop.run(mode: mode, for: span, returningAfterSourceHandled: returns)
        runs -= 1
    }

    /// Removes the accounts, whose closures refer to the program.
    func removeAccounts() { accounts = [] }

    func popContext() {
        guard let context else { return }
        g_main_context_pop_thread_default(context)
        g_main_context_unref(context)
    }
}

extension [GRunLoop.Mode] {
    /// Equal for equal sets of modes.
    var key: String { Set(map(\.rawValue)).sorted().joined(separator: "+") }
}
