// SPDX-License-Identifier: Apache-2.0
// The rounds: all events together, then one event at a time, then a quiet point with the checks of the balance.

import GRunLoop
import Glibc
import TestSupport

final class Soak: @unchecked Sendable {
    private let main: MainLoop
    private let workers = Workers()
    private var points = QuietPoints()
    private var rounds = 0

    private static let storm: Int64 = 1_200_000_000
    private static let pings: Int64 = 500_000_000

    init(_ main: MainLoop) { self.main = main }

    /// Runs on its own thread, while the main thread drives the main loop.
    func run() {
        let end = nanoseconds() + Int64(Settings.seconds) * 1_000_000_000
        while rounds < QuietPoints.warmUp + 1 || nanoseconds() < end, Findings.isEmpty {
            storm()
            ping()
            settle()
            if getenv("GRUN_SOAK_VERBOSE") != nil {
                printToStandardError("\(Settings.title): round \(rounds): \(points.figures)\n")
            }
        }
        if !Settings.isSanitized { points.balance() }
        main.go(.over)
    }

    private func storm() {
        main.go(.short)
        // The last round of the warm-up has a flood, so that a short soak has one too.
        let flood = rounds % 6 == 1 ? Flood(rounds / 6 + Int(Settings.seed % 6), main.consumer) : nil
        // Under a sanitizer gaps are always long, so the flood is only there to show races.
        let isLong = flood != nil && !Settings.isSanitized
        let end = nanoseconds() + (isLong ? Settings.longestGap + Self.storm / 2 : Self.storm)
        onProducers { producer in producer.storm(until: end) }
        flood?.stop()
        workers.endAll()
    }

    /// Each producer pings its own loop; one of them pings the main loop.
    private func ping() {
        main.go(.long)
        let (end, round) = (nanoseconds() + Self.pings, rounds)
        onProducers { [main, workers] producer in
            if producer.number == round % Settings.producers { return producer.ping(main.consumer, until: end) }
            let worker = workers.make(Settings.isHosted ? 2 : 1)
            producer.ping(worker.consumer, until: end)
            worker.end()
        }
    }

    private func onProducers(_ body: @escaping @Sendable (Producer) -> Void) {
        let running = Counted()
        let threads = (0..<Settings.producers).map { number in
            startThread { [main, workers, rounds] in
                body(Producer(number, round: rounds, main: main.consumer, workers: workers))
                running.add()
            }
        }
        let most = Settings.patience * 4
        if !waitUntil(timeout: .seconds(10) + most, { running.value == Settings.producers }) {
            Findings.end(
                "only \(running.value) of \(Settings.producers) producers came to an end; \(main.consumer.state)")
        }
        for thread in threads { join(thread) }
    }

    private func settle() {
        let consumer = main.consumer
        consumer.crowds.settleAll()
        consumer.settleAll()
        waitFor(consumer.debts.joined(separator: "; "), on: consumer) { consumer.debts.isEmpty }
        consumer.barrier()
        for lane in consumer.allLanes { lane.balanceOfLiving() }
        consumer.forget()
        consumer.barrier()
        _ = waitUntil(timeout: Settings.patience) {
            Census.shared.unbalanced.isEmpty && workers.living == 0 && Callbacks.count == 0
        }
        for text in Census.shared.unbalanced { Findings.add(text) }
        if Callbacks.count > 0 { Findings.add("notify: \(Callbacks.count) GLib callbacks were not released") }
        for name in workers.takeLiving() {
            Findings.add("leak: the loop of a thread that has ended is still there: \(name)")
        }
        rounds += 1
        main.go(.quiet)
        points.add("round \(rounds)")
    }

    var figures: String {
        let census = Census.shared
        let each = Kind.allCases.map { "\($0.title) \(census.deliveries(of: $0))" }.joined(separator: ", ")
        let gap = census.longestGap
        return [
            "\(Settings.title): \(rounds) rounds", "\(census.deliveries) callouts (\(each))",
            "\(census.pings.value) pings",
            "\(census.loops.value) loops", "\(census.notifies) closures released",
            "\(census.probes.value) looks for locks",
            "longest gap \(gap.nanoseconds / 1_000_000) ms (\(gap.kind.title))", points.figures,
            "\(Findings.number) differences",
        ].joined(separator: ", ")
    }
}
