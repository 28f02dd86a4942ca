// SPDX-License-Identifier: Apache-2.0
// The text of the report of GRUN_CHECK, and the messages of the quiet check.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc

/// The versions of Swift. Change all of them when a newer version was tested.
enum Toolchain {
    static let tested = "6.3"
    #if compiler(>=6.4)
        static let (compiled, isUntested) = ("6.4 or later", true)
    #else
        static let (compiled, isUntested) = ("6.3", false)
    #endif
}

struct CheckReport {
    private let findings: CheckFindings
    private let hasMainLoop: Bool

    init(of findings: CheckFindings, hasMainLoop: Bool) {
        self.findings = findings
        self.hasMainLoop = hasMainLoop
    }

    var text: String {
        let rows = versions + (hasMainLoop ? services : [("main loop", Self.unused)])
        return "GRUN_CHECK of process \(getpid())\n"
            + rows.map { "  \($0)\(String(repeating: " ", count: max(1, 13 - $0.count)))\($1)\n" }.joined()
    }

    private static let unused =
        "the program has not used GRunLoop.main, so this library serves nothing; read GRunLoop.main on the main thread "
        + "before the program's main loop runs"

    private var versions: [(String, String)] {
        [
            ("library", "in \(String(cString: cgrun_own_file()))"),
            ("Swift", "compiled with \(Toolchain.compiled); tested with \(Toolchain.tested)"),
            ("libdispatch", "in \(String(cString: cgrun_file_of_libdispatch()))"),
            ("GLib", String(cString: cgrun_glib_version())),
        ]
    }

    private var services: [(String, String)] {
        [
            ("driven by", driver), ("main queue", mainQueue),
            ("main actor", actor), ("Foundation", foundation), ("other code", otherCode), ("last second", idle),
        ]
    }

    private var driver: String {
        switch findings.driver {
        case .host: "a main loop of GLib, such as GTK's"
        case .run(let mode): "a run of this loop, in mode \(mode)"
        case .foundation: "a run of Foundation's run loop"
        case .foundationAlone:
            "a run of Foundation's run loop, which does not serve this library's loop; call GRunLoop.main.serve("
                + "RunLoop.main), and keep the token that it returns"
        case .otherCode: "other code, which drains the main queue"
        case .libdispatch(let reason): "libdispatch, on another thread: \(reason)"
        case .sleeping: "a run or a host, which sleeps although a block waits"
        case .busy: "a callback on the main thread that has not returned yet"
        case .unknown: "unknown, because no thread could be started for the check"
        case .nobody, nil: "nobody so far: run the main loop of GLib, GTK or this library on the main thread"
        }
    }

    private var mainQueue: String {
        if case .libdispatch = findings.driver { return "not served by this loop" }
        return served(findings.block, as: "a block")
    }

    private func served(_ time: Nanoseconds?, as what: String) -> String {
        time.map { "served: \(what) ran after \(max(1, $0 / 1000)) us" } ?? "not served: \(what) has not run"
    }

    private var actor: String {
        findings.isJobOnMainThread
            ? served(findings.job, as: "a job") : "not served: a job ran on another thread than the main thread"
    }

    private var foundation: String {
        guard let isLoaded = findings.isFoundationLoaded else { return "not checked" }
        guard isLoaded else { return "not loaded, or linked statically" }
        return findings.isFoundationServed == true
            ? "served: a timer of RunLoop.main fired"
            : "not served: a timer of RunLoop.main has not fired; if you use such timers, call GRunLoop.main.serve("
                + "RunLoop.main) of the product GRunLoopFoundation, and keep the token that it returns"
    }

    /// A polling timer runs Foundation's loop at least every 100 ms. A served loop runs only when it has work.
    private var otherCode: String {
        if findings.otherDrains > 0 {
            return "drains the main queue, too, with its own GSource or a timer; remove it, because this library "
                + "serves the queue"
        }
        switch findings.driver {
        case .foundation, .foundationAlone: return "none was seen"
        default: break
        }
        guard let runs = findings.idle?.foundationRuns, runs >= 10 else { return "none was seen" }
        return "runs Foundation's loop \(runs) times a second; remove the timer that does this: "
            + "GRunLoop.main.serve(RunLoop.main) replaces it"
    }

    private var idle: String {
        guard let idle = findings.idle else {
            return "not measured, because the program has ended or a service is missing"
        }
        return "\(idle.wakeUps) wake-ups of the main thread, which used \(idle.share) % of a processor"
    }
}

extension CheckFindings.Service {
    /// The message of the quiet check.
    var message: String {
        switch self {
        case .mainQueue:
            "the main dispatch queue is not served: a block of DispatchQueue.main has not run, although the main run "
                + "loop waits. Set GRUN_CHECK=1 for a report"
        case .mainActor:
            "the main actor is not served: a job of @MainActor has not run on the main thread, although the main run "
                + "loop waits. Set GRUN_CHECK=1 for a report"
        }
    }
}
