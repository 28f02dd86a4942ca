// SPDX-License-Identifier: Apache-2.0
// Checks that a window's stall is reported with its name and the function at fault, and that a busy loop is not.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import Glibc

extension HostChecks {
    func checkStalls() {
        let reports = Reports()
        let timeline = GRunLoop.Timeline()
        timeline.start()
        do throws(GRunLoop.SystemError) {
            let monitor = try GRunLoop.StallMonitor(.main, threshold: .milliseconds(200)) { reports.note($0) }
            checkStall("a callback of GTK's", reports, callout: .host, label: "a click", in: "handleClick") {
                let id = Host.addTimeout(milliseconds: 20) {
                    handleClick()
                    return false
                }
                g_source_set_name_by_id(id, "a click")
            }
            checkStall("a slow timer", reports, callout: .timer, label: "autosave", in: "saveEverything") {
                let timer = GRunLoop.Timer(interval: .milliseconds(20), repeats: false) { _ in saveEverything() }
                timer.label = "autosave"
                GRunLoop.main.add(timer, forMode: .default)
            }
            monitor.stop()
            timeline.stop()
            checkTimeline(timeline)
            try checkFlood()
        } catch {
            report.fact("stalls", false, "\(error)")
        }
    }

    private func checkStall(
        _ what: String, _ reports: Reports, callout: GRunLoop.StallReport.Callout, label: String, in function: String,
        _ arrange: () -> Void
    ) {
        Watchdog.shared.feed("a stall in \(what)")
        reports.forget()
        toolkit.setAnimating(true)
        arrange()
        Host.run(milliseconds: 600)
        // On a busy machine another callout may have stalled as well.
        let told = reports.all.filter { $0.callout == callout && $0.label == label }
        let isRight =
            told.map(\.isOver) == [false, true] && told[0].frames.contains { $0.description.contains(function) }
        let what = "a stall of 300 ms in \(what)"
        report.fact(what, isRight, told.map { isRight ? $0.summary : $0.description }.joined(separator: "; "))
    }

    /// The timeline must show both stalls: ours by its label, the GTK callback as work of the host.
    private func checkTimeline(_ timeline: GRunLoop.Timeline) {
        let path = "/tmp/grun-host-checks-\(getpid()).json"
        defer { unlink(path) }
        do throws(GRunLoop.SystemError) { try timeline.write(to: path, as: .chromeJSON) } catch {
            return report.fact("timeline", false, "\(error)")
        }
        for name in ["autosave", "host"] {
            let longest = longestEvent(name, in: path)
            report.fact("300 ms of \(name) in a timeline", (290..<2000).contains(longest), "\(longest) ms in one piece")
        }
    }

    /// Returns the longest event of a file of trace events in milliseconds. Each event has its own line.
    private func longestEvent(_ name: String, in path: String) -> Double {
        guard let file = fopen(path, "r") else { return 0 }
        defer { fclose(file) }
        var longest = 0.0
        var buffer = [CChar](repeating: 0, count: 4096)
        while let text = fgets(&buffer, Int32(buffer.count), file) {
            let line = String(cString: text)
            guard line.contains("\"name\":\"\(name)\""), let key = line.firstRange(of: "\"dur\":") else { continue }
            longest = max(longest, (Double(line[key.upperBound...].prefix { $0 != "," && $0 != "}" }) ?? 0) / 1000)
        }
        return longest
    }

    /// Another thread posts many short callouts, for twice as long as the threshold.
    private func checkFlood() throws(GRunLoop.SystemError) {
        Watchdog.shared.feed("a flood under a stall monitor")
        let reports = Reports()
        let monitor = try GRunLoop.StallMonitor(.main, threshold: .milliseconds(600)) { reports.note($0) }
        defer { monitor.stop() }
        let isOver = Shared()
        let worker = Worker {
            while !isOver.isSet {
                GRunLoop.main.async { work(1) }
                usleep(900)
            }
        }
        Host.run(milliseconds: 1200)
        isOver.set()
        worker.join()
        Host.settle()
        report.fact("a flood of blocks from a thread", reports.all.isEmpty, "\(reports.all.count) stalls told of")
    }
}

@inline(never) private func handleClick() { work(300) }
// The code differs, because the compiler would merge two equal functions.
@inline(never) private func saveEverything() { for _ in 0..<30 { work(10) } }

/// The reports of a monitor's thread.
private final class Reports: @unchecked Sendable {
    private var told: [GRunLoop.StallReport] = []
    private var lock = pthread_mutex_t()

    init() { pthread_mutex_init(&lock, nil) }

    var all: [GRunLoop.StallReport] {
        pthread_mutex_lock(&lock)
        defer { pthread_mutex_unlock(&lock) }
        return told
    }

    func note(_ report: GRunLoop.StallReport) {
        pthread_mutex_lock(&lock)
        told.append(report)
        pthread_mutex_unlock(&lock)
    }

    func forget() {
        pthread_mutex_lock(&lock)
        told = []
        pthread_mutex_unlock(&lock)
    }
}
