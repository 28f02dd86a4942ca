// SPDX-License-Identifier: Apache-2.0
// Shared by the cases: the loop, its driver, and the number of measured operations.

import BenchSupport
import CGRunGLib
import GRunLoop

/// One run of one case. Unless documented otherwise, its state belongs to the loop's thread.
///
/// HOSTED=1 in the environment: g_main_loop_run() drives the main loop. ENDLESS_SLICE=1: the host gets no turn while
/// the loop has work. Otherwise counts under valgrind or strace would depend on their slowdown.
/// on how long.
struct Bench {
    let n: Int
    let loop: GRunLoop
    /// The GLib loop of a host; nil if the run loop drives itself.
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

    /// Makes one pass, or one iteration of the host, without waiting.
    func look() {
        if host == nil { loop.run(mode: .default, for: .zero) } else { g_main_context_iteration(nil, 0) }
    }

    func stop() {
        if let host { g_main_loop_quit(host) } else { loop.stop() }
    }

    /// Returns the time of `body` per operation.
    func measure(_ body: () -> Void) -> Double {
        let begin = bench_now()
        body()
        return Double(bench_now() - begin) / Double(n)
    }

    func report(_ nanoseconds: Double, _ extra: String = "-", as name: String? = nil) {
        bench_report(name ?? caseName, n, nanoseconds, extra)
    }

    /// Rounds to tenths of nanoseconds, because smaller differences are noise.
    func shown(_ number: Double) -> String { String(Double(Int(number * 10)) / 10) }
}

/// The measured bench, set first. It is global, so that callbacks capture no more than those of the peers.
nonisolated(unsafe) var bench: Bench! = nil
/// The bench's loop as a pointer, as in the peers. A global object would cost reference counting, and a global with an
/// initial value is checked for its initialization at each use.
nonisolated(unsafe) var benchLoop: Unmanaged<GRunLoop>! = nil

/// The counter of a case's callbacks. One thread uses it at a time.
nonisolated(unsafe) var count = 0
/// The delay of each callback.
nonisolated(unsafe) var latencies: UnsafeMutablePointer<Int64>! = nil

/// The case's name. It is not part of `Bench`, because blocks capture the bench, and would retain the string.
let caseName = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : ""
