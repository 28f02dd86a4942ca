// SPDX-License-Identifier: Apache-2.0
// Checks that no flood of the loop stops the toolkit's drawing. Drawing, or a flood of the host, must not stop the
// loop's timers.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc

/// Endless work of one kind.
private struct Flood: Sendable {
    let name: String
    var isLong = false
    /// Starts the flood. Returns a closure that ends it.
    let start: @Sendable (Shared) -> () -> Void
}

/// A flood of each kind. Each item uses the processor for this many milliseconds.
private func floods(of milliseconds: Int) -> [Flood] {
    let suffix = milliseconds == 0 ? "" : " of \(milliseconds) ms"
    return [
        Flood(name: "source" + suffix, isLong: milliseconds > 0) { stop in
            let source = Slot<GRunLoop.Source>()
            source.value = GRunLoop.Source {
                work(milliseconds)
                if !stop.isSet { source.value?.signal() }
            }
            if let flooding = source.value {
                GRunLoop.main.add(flooding, forMode: .default)
                flooding.signal()
            }
            GRunLoop.main.wakeUp()
            return {
                source.value?.invalidate()
                source.value = nil
            }
        },
        Flood(name: "blocks" + suffix, isLong: milliseconds > 0) { stop in
            @Sendable func enqueue() {
                guard !stop.isSet else { return }
                GRunLoop.main.async {
                    work(milliseconds)
                    enqueue()
                }
            }
            enqueue()
            return {}
        },
        Flood(name: "zero timers" + suffix, isLong: milliseconds > 0) { stop in
            @Sendable func arm() {
                guard !stop.isSet else { return }
                let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in
                    work(milliseconds)
                    arm()
                }
                GRunLoop.main.add(timer, forMode: .default)
            }
            arm()
            return {}
        },
        Flood(name: "descriptor" + suffix, isLong: milliseconds > 0) { _ in
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            let (readEnd, writeEnd) = (ends[0], ends[1])
            write(writeEnd, "x", 1)
            let source = GRunLoop.DescriptorSource(descriptor: readEnd) { _, _ in work(milliseconds) }
            try? GRunLoop.main.add(source, forMode: .default)
            return {
                source.invalidate()
                close(readEnd)
                close(writeEnd)
            }
        },
        Flood(name: "main queue" + suffix, isLong: milliseconds > 0) { stop in
            @Sendable func enqueue() {
                guard !stop.isSet else { return }
                DispatchQueue.main.async {
                    work(milliseconds)
                    enqueue()
                }
            }
            enqueue()
            return {}
        },
    ]
}

/// Timers with an empty callback, beside timeouts of the host that only slow down its iterations.
private func shortTimers(
    _ count: Int, every interval: Duration, apart: Duration = .zero, besideTimeouts timeouts: Int
) -> Flood {
    Flood(name: "\(count) timers of \(interval) beside \(timeouts) timeouts") { _ in
        let ids = (0..<timeouts).map { _ in Host.addTimeout(milliseconds: 3_600_000) { false } }
        let timers = (0..<count).map { index in
            GRunLoop.Timer(fireAt: GRunLoop.now.advanced(by: apart * index), interval: interval) { _ in }
        }
        for timer in timers { GRunLoop.main.add(timer, forMode: .default) }
        return {
            for timer in timers { timer.invalidate() }
            for id in ids { Host.remove(id) }
        }
    }
}

/// Uses the processor.
func work(_ milliseconds: Int) {
    guard milliseconds > 0 else { return }
    let end = GRunLoop.now.advanced(by: .milliseconds(milliseconds))
    while GRunLoop.now < end {}
}

/// A value that closures of the main thread share.
private final class Slot<Value>: @unchecked Sendable {
    var value: Value?
}

extension HostChecks {
    /// Measures the frames under each flood and under all floods, relative to the frames without a flood just before.
    func checkFloods() {
        toolkit.setAnimating(true)
        defer { toolkit.setAnimating(false) }
        let short = floods(of: 0)
        let all = Flood(name: "all at once") { stop in
            let ends = short.map { $0.start(stop) }
            return { for end in ends { end() } }
        }
        let timers = [
            shortTimers(1, every: .microseconds(1), besideTimeouts: 0),
            shortTimers(1, every: .microseconds(10), besideTimeouts: 2000),
            shortTimers(100, every: .milliseconds(1), apart: .microseconds(10), besideTimeouts: 300),
        ]
        for flood in short + [all] + timers + floods(of: 5) {
            Watchdog.shared.feed("flood: \(flood.name)")
            let unloaded = framesInASecond()
            let stop = Shared()
            let end = flood.start(stop)
            let loaded = framesInASecond()
            stop.set()
            end()
            Host.settle()
            let ratio = Double(loaded) / Double(max(1, unloaded))
            // 57 of 60 frames; 55 if an item of the loop takes a third of a frame.
            report.fact(
                "frames under a flood: \(flood.name)", ratio >= (flood.isLong ? 0.916 : 0.95),
                "\(loaded) of \(unloaded), ratio \((ratio * 100).rounded() / 100)",
                isGate: gatesFrames)
            // Without a gate on the rate, the frames must at least go on.
            report.fact("frames go on: \(flood.name)", loaded * 4 > unloaded, "\(loaded) a second")
        }
    }

    /// A thousand pieces of idle work of a millisecond each run between the frames.
    func checkIdleWork() {
        Watchdog.shared.feed("idle work")
        toolkit.setAnimating(true)
        let unloaded = framesInASecond()
        let queue = GRunLoop.IdleQueue()
        GRunLoop.main.add(queue, forMode: .default)
        for _ in 0..<1000 { queue.enqueue { work(1) } }
        let loaded = framesInASecond()
        let done = 1000 - queue.count
        toolkit.setAnimating(false)
        queue.invalidate()
        Host.settle()
        let ratio = Double(loaded) / Double(max(1, unloaded))
        report.fact(
            "frames beside 1,000 pieces of idle work", ratio >= 0.916,
            "\(loaded) of \(unloaded), ratio \((ratio * 100).rounded() / 100)", isGate: gatesFrames)
        report.fact("idle work goes on beside frames", done > 100, "\(done) of 1,000 pieces of 1 ms in a second")
    }

    private func framesInASecond() -> Int {
        let before = toolkit.drawing.frames
        Host.run(milliseconds: 1000)
        return toolkit.drawing.frames - before
    }

    /// The loop's 10 ms timer fires between any two frames while a frame takes 25 ms. Counts from the first fire to the
    /// last one, because the first and the last frame may have no fire before or after them.
    func checkSlowDrawing() {
        Watchdog.shared.feed("slow drawing")
        toolkit.setAnimating(true)
        toolkit.drawing.milliseconds = 25
        let drawing = toolkit.drawing
        let first = drawing.frames
        let fires = Fires(noting: { drawing.frames })
        fires.start()
        Host.run(milliseconds: 1000)
        fires.stop()
        toolkit.drawing.milliseconds = 0
        toolkit.setAnimating(false)
        let drawn = drawing.frames - first
        let longest = zip(fires.notes, fires.notes.dropFirst()).map { $1 - $0 }.max() ?? drawn
        report.fact(
            "timer of 10 ms while frames take 25 ms", drawn > 10 && fires.count > 10 && longest <= 1,
            "\(fires.count) fires, \(drawn) frames, at most \(longest) between two fires")
    }

    /// The loop's 10 ms timer fires at most a few iterations late under a host flood at priority 0. Counts calls of the
    /// flood, one per iteration, because a busy machine delays both. Three fires may be later, because a busy kernel
    /// itself sometimes reports the timer late: once after 23 iterations.
    func checkForeignFlood() {
        Watchdog.shared.feed("a flood of the host's")
        let fires = Fires()
        let flood = Host.addIdle(priority: 0) {
            fires.noteIteration()
            return true
        }
        fires.start()
        Host.run(milliseconds: 1000)
        fires.stop()
        Host.remove(flood)
        let later = fires.overdue.filter { $0 > 20 }
        report.fact(
            "timer of 10 ms under a flood of the host's",
            fires.count > 10 && later.count <= 3 && later.allSatisfy { $0 <= 200 },
            "\(fires.count) of 100 fires, overdue for at most \(fires.overdue.max() ?? 0) iterations")
    }
}

private final class Fires: @unchecked Sendable {
    /// What `note` returned at each fire.
    private(set) var notes: [Int] = []
    private let note: () -> Int
    private var timer: GRunLoop.Timer?

    /// For each time that the timer was due, the number of iterations before it fired.
    private(set) var overdue: [Int] = []
    private var isOverdue = false

    var count: Int { notes.count }

    init(noting note: @escaping () -> Int = { 0 }) { self.note = note }

    func start() {
        let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { [self] _ in notes.append(note()) }
        GRunLoop.main.add(timer, forMode: .default)
        self.timer = timer
    }

    func noteIteration() {
        let wasOverdue = isOverdue
        isOverdue = timer.map { $0.isValid && $0.fireDate <= GRunLoop.now } == true
        guard isOverdue else { return }
        if wasOverdue { overdue[overdue.count - 1] += 1 } else { overdue.append(1) }
    }

    func stop() { timer?.invalidate() }
}
