// SPDX-License-Identifier: Apache-2.0
// What every case has: a loop, whoever drives it, and how many operations are measured.

import BenchSupport
import CGRunGLib
import GRunLoop

/// One run of one case. Its state is the loop's thread's own, but for what says otherwise.
///
/// HOSTED=1 in the environment: g_main_loop_run() drives the main loop. ENDLESS_SLICE=1: it gets no turn of its own as
/// long as there is work of ours. What is counted under valgrind or strace, where everything takes longer, would depend
/// on how long.
struct Bench {
    let n: Int
    let loop: GRunLoop
    /// A host's loop, if that drives.
    nonisolated(unsafe) private let host: OpaquePointer?

    init(_ n: Int) {
        self.n = n
        loop = GRunLoop.main
        host = getenv("HOSTED") == nil ? nil : g_main_loop_new(nil, 0)
        if getenv("ENDLESS_SLICE") != nil { loop.timeSlice = .seconds(3600) }
        bench_set_peer(host == nil ? "grun" : "grun-hosted")
    }

    /// Runs the loop until `stop()`.
    func drive() {
        if let host { g_main_loop_run(host) } else { loop.run() }
    }

    /// One pass, or one iteration of the host's, that does not wait.
    func look() {
        if host == nil { loop.run(mode: .default, for: .zero) } else { g_main_context_iteration(nil, 0) }
    }

    func stop() {
        if let host { g_main_loop_quit(host) } else { loop.stop() }
    }

    /// The time of `body`, for each operation.
    func measure(_ body: () -> Void) -> Double {
        let begin = bench_now()
        body()
        return Double(bench_now() - begin) / Double(n)
    }

    func report(_ nanoseconds: Double, _ extra: String = "-", as name: String? = nil) {
        bench_report(name ?? caseName, n, nanoseconds, extra)
    }

    /// Tenths of nanoseconds are noise.
    func shown(_ number: Double) -> String { String(Double(Int(number * 10)) / 10) }
}

/// The one that is measured, for callbacks that capture no more than those of the peers. Set before anything runs.
nonisolated(unsafe) var bench: Bench! = nil
/// Its loop: a pointer, as the peers have one. What is read of a global object counts references otherwise, and a
/// global with a value of its own is asked at each use whether it was made already.
nonisolated(unsafe) var benchLoop: Unmanaged<GRunLoop>! = nil

/// What the callbacks of a case count. Of one thread at a time.
nonisolated(unsafe) var count = 0
/// How late each of them was.
nonisolated(unsafe) var latencies: UnsafeMutablePointer<Int64>! = nil

/// The case. Not part of `Bench`, which blocks capture: it would cost each of them a reference.
let caseName = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : ""
