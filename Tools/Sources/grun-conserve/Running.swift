// SPDX-License-Identifier: Apache-2.0
// Drives a program: turns until its budget is used up, turns until everything is done, a check that the idle loop
// sleeps, and the end.

import CGRunGLib
import GRunLoop
import TestSupport

extension Program {
    /// Work that is still open after this time is lost.
    private static let patience = Duration.seconds(8)
    /// How many passes or iterations an idle loop may make in 10 ms. A perturbation may cause some.
    private static let mostIdlePasses = 40

    /// Runs a program on its own thread or on the main thread, and returns when it has ended.
    static func runAndJoin(_ settings: Settings) {
        let watchdog = Watchdog(.seconds(60), "conserve: the program of seed \(settings.seed) did not end")
        if settings.isMain {
            Program(settings, isVirtual: false).runToItsEnd()
        } else {
            // Keeps the program, because the closures that the thread's end releases refer to it.
            let kept = Shared<Program?>(nil)
            join(startThread { runOnThread(settings, kept) })
            kept.value?.close()
        }
        watchdog.disarm()
    }

    private static func runOnThread(_ settings: Settings, _ kept: Shared<Program?>) {
        guard settings.seed % 7 == 0 else {
            let program = Program(settings, isVirtual: false)
            kept.value = program
            return program.runToItsEnd()
        }
        GRunLoop.withVirtualTime { time in
            let program = Program(settings, isVirtual: true)
            kept.value = program
            program.virtualTime = time
            program.runToItsEnd()
            program.virtualTime = nil
        }
    }

    private func runToItsEnd() {
        begin()
        let producers = Producers(self)
        if !settings.without.contains("producers"), random.chance(30) { producers.start() }
        let end = ContinuousClock.now.advanced(by: Self.patience)
        while budget > 0, ContinuousClock.now < end {
            turn(random.pick(modes))
            if random.chance(30) { act() }
        }
        isDraining = true
        budget = 0
        while open(producers) != nil, ContinuousClock.now < end { drain() }
        if let open = open(producers) { Findings.add("\(driver): not done after \(Self.patience): \(open)") }
        producers.join()
        for account in accounts { account.quiet() }
        if virtualTime == nil { expectSleep() }
        finish()
    }

    private var driver: String { isHosted ? "host" : virtualTime != nil ? "virtual time" : "own driver" }

    private func open(_ producers: Producers) -> String? { joined(accounts.map(\.open) + [producers.open]) }

    /// One way to drive the loop for a moment.
    private func turn(_ mode: GRunLoop.Mode) {
        if let virtualTime, random.chance(75) {
            return virtualTime.advance(by: .microseconds(random.number(0...2000)), mode: mode)
        }
        if isHosted, random.chance(8) { detachForMoment() }
        if isHosted, mode == .default, random.chance(75) {
            for _ in 0..<random.number(1...6) { g_main_context_iteration(context, 0) }
        } else {
            run(mode, for: random.pick([.zero, .milliseconds(1)]))
        }
    }

    private func detachForMoment() {
        loop.detach()
        if random.chance(50) { g_main_context_iteration(context, 0) }
        if random.chance(50) { act() }
        loop.attach()
    }

    private func drain() {
        for mode in modes { turn(mode) }
        if !isHosted || random.chance(30) { run(.default, for: .milliseconds(1)) }
    }

    /// Checks that the loop sleeps in each mode, and under its host, when nothing is left to do.
    private func expectSleep() {
        let passes = Counter()
        let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() }
        let keeper = GRunLoop.Source {}
        for mode in modes {
            loop.add(observer, forMode: mode)
            loop.add(keeper, forMode: mode)
            let before = passes.value
            _ = loop.run(mode: mode, for: .milliseconds(10))
            expectFew(passes.value - before, "passes in mode \(mode)")
        }
        if isHosted { expectHostSleeps() }
        observer.invalidate()
        keeper.invalidate()
    }

    private func expectHostSleeps() {
        let isOver = Flag()
        let timeout = GLibSource.timeout(context, milliseconds: 10) {
            isOver.set()
            return false
        }
        var iterations = 0
        while !isOver.isSet {
            g_main_context_iteration(context, 1)
            iterations += 1
        }
        timeout.destroy()
        expectFew(iterations, "iterations of a host")
    }

    private func expectFew(_ count: Int, _ what: String) {
        if count > Self.mostIdlePasses { Findings.add("\(driver): an idle loop made \(count) \(what) in 10 ms") }
    }

    private func finish() {
        if !settings.isMain { for account in accounts { account.leave() } }
        hasEnded = true
        if settings.isMain { close() }
        popContext()
    }

    private func close() {
        for account in accounts { account.close() }
        removeAccounts()
    }
}
