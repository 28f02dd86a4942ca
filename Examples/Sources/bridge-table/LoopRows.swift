// SPDX-License-Identifier: Apache-2.0
// Rows: nested loops and modes, wake-ups, latency, floods, fork and plug-ins.

import Bridges
import CGRunGLib
import Foundation
import GRunLoop
import Measuring
import Synchronization

extension Rows {
    // MARK: Nested loops

    static func nestedInCallback(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let served = Number()
        onIdle {
            served.set(modalLoop(in: bridge).blocks)
            loop.quit()
        }
        loop.run(atMost: 5)
        return counted(served.value, of: 10)
    }

    static func nestedInTask(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let (hasBegun, blocks, performs) = (Count(), Number(), Number())
        let begin: @MainActor @Sendable () -> Void = {
            hasBegun.increment()
            let served = modalLoop(in: bridge)
            blocks.set(served.blocks)
            performs.set(served.performs)
            loop.quit()
        }
        Task { await MainActor.run { begin() } }
        loop.run(atMost: 5)
        guard hasBegun.value > 0 else { return "the task never runs" }
        // libdispatch never drains the queue inside one of its blocks. The blocks of a run loop do run there.
        return blocks.value == 0 && performs.value == 10
            ? "waits, but `GRunLoop.main.async` runs" : counted(blocks.value, of: 10)
    }

    /// Runs a loop for half a second, as a modal dialog does. Meanwhile another thread enqueues 10 blocks on the main
    /// queue, and 10 blocks on the main run loop. Returns how many of them have run.
    private static func modalLoop(in bridge: Bridge) -> (blocks: Int, performs: Int) {
        let (blocks, performs) = (Count(), Count())
        Thread.detachNewThread {
            for _ in 0..<10 {
                DispatchQueue.main.async { blocks.increment() }
                if bridge == .grunloop {
                    GRunLoop.main.async { performs.increment() }
                } else {
                    RunLoop.main.perform { performs.increment() }
                }
                usleep(10_000)
            }
        }
        MainLoop().run(atMost: 0.5)
        return (blocks.value, performs.value)
    }

    /// A drag runs a loop of its own. Timers of Foundation in the default mode should wait.
    static func drag(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let (before, during) = (Count(), Number())
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { _ in before.increment() }
        loop.run(atMost: 0.5)
        let hasTimers = before.value > 0
        onIdle {
            let pushed = bridge == .grunloop ? try? GRunLoop.main.push(ambientMode: .tracking) : nil
            let count = before.value
            MainLoop().run(atMost: 0.5)
            during.set(before.value - count)
            pushed?.pop()
            loop.quit()
        }
        loop.run(atMost: 5)
        timer.invalidate()
        return !hasTimers ? "no such timers" : during.value <= 1 ? "wait" : "disturb it"
    }

    /// Another program measures, because only the main function of a program can be async.
    static func asyncMain(_ bridge: Bridge) -> String {
        let child = Child("bridge-async", [bridge.rawValue], seconds: 10)
        return child.output.split(separator: "\n").last.map(String.init) ?? "never resumes"
    }

    // MARK: Wake-ups, latency and floods

    static func idle(_ bridge: Bridge) -> String {
        let wakeUps = wakeUpsASecond()
        return wakeUps <= 1 ? "none" : "\(wakeUps)"
    }

    static func wakeUpsASecond() -> Int {
        let loop = MainLoop()
        loop.run(atMost: 0.5)
        let before = wakeUpsOfThisThread()
        loop.run(atMost: 2)
        // The end of the run is one wake-up.
        return (wakeUpsOfThisThread() - before - 1) / 2
    }

    static func latency(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let latencies = Latencies()
        // At random times, so that a poll is as likely right before a block as right after it.
        Thread.detachNewThread {
            for _ in 0..<150 {
                usleep(.random(in: 0...40_000))
                let start = DispatchTime.now()
                post(to: bridge) { latencies.add(since: start) }
            }
            usleep(100_000)
            loop.quit()
        }
        loop.run(atMost: 15)
        guard let median = latencies.microseconds(0.5), let late = latencies.microseconds(0.99) else {
            return "never runs"
        }
        return "\(text(microseconds: median)), \(text(microseconds: late))"
    }

    /// Another thread always has up to 1,000 unfinished blocks. Each block works for 20 us. GTK draws in sources of
    /// priority 120.
    static func flood(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let frames = Count()
        onTimeout(every: 16, priority: 120) { frames.increment() }
        let hasEnded = Atomic(false)
        let blocks = Count()
        let thread = Foundation.Thread {
            let room = DispatchSemaphore(value: 1000)
            while !hasEnded.load(ordering: .relaxed) {
                guard room.wait(timeout: .now() + 0.1) == .success else { continue }
                post(to: bridge) {
                    work(microseconds: 20)
                    blocks.increment()
                    room.signal()
                }
            }
        }
        thread.start()
        loop.run(atMost: 2)
        hasEnded.store(true, ordering: .relaxed)
        return withExtendedLifetime(thread) {
            "\(frames.value == 0 ? "no" : "\(frames.value / 2)") frames, \(blocks.value / 2) blocks"
        }
    }

    /// Without a bridge, a thread adds an idle callback instead of a block.
    private static func post(to bridge: Bridge, _ closure: @escaping @Sendable () -> Void) {
        if bridge == .idle { onIdle(closure) } else { DispatchQueue.main.async(execute: closure) }
    }

    // MARK: Processes and plug-ins

    /// The child process serves its main loop, too. The parent's block should run in the parent only.
    static func fork(_ bridge: Bridge) -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return "no pipe" }
        let writeEnd = ends[1]
        post(to: bridge) { _ = write(writeEnd, "x", 1) }
        let child = forked()
        MainLoop().run(atMost: 0.5)
        if child == 0 { _exit(0) }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        var bytes = [UInt8](repeating: 0, count: 8)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let count = max(0, read(ends[0], &bytes, bytes.count))
        let end = status == 0 ? "" : ", the child crashes"
        return switch count {
        case 0: "never runs\(end)"
        case 1: "runs once\(end)"
        default: "runs in the child, too\(end)"
        }
    }

    static func plugins(_ bridge: Bridge) -> String {
        let works: Bool
        if bridge == .grunloop {
            works = Plugin.isServed()
        } else {
            bridge.install()
            works = mainQueue(bridge) == "runs"
        }
        let wakeUps = wakeUpsASecond()
        guard works else { return "never runs" }
        return "runs, \(wakeUps <= 1 ? "no" : "\(wakeUps)") wake-ups a second"
    }
}

/// The address of a symbol, which must exist.
private func symbol(_ name: String, in library: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
    guard let found = dlsym(library, name) else { fatalError("no symbol \(name)") }
    return found
}

/// `fork()`, which Swift does not import.
private func forked() -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    return unsafeBitCast(symbol("fork", in: nil), to: Fork.self)()
}

/// The plug-in of the example `swift-plugin`, which contains another copy of the library.
private enum Plugin {
    /// Returns whether the blocks, and the job of the main actor, which the plug-in enqueues have run.
    static func isServed() -> Bool {
        let path = Child.folder + "/libswift-plugin.so"
        guard let plugin = dlopen(path, RTLD_NOW) else { fatalError(String(cString: dlerror())) }
        typealias Start = @convention(c) () -> Void
        typealias Served = @convention(c) () -> UInt32
        unsafeBitCast(symbol("plugin_start", in: plugin), to: Start.self)()
        MainLoop().run(atMost: 0.5)
        return unsafeBitCast(symbol("plugin_served", in: plugin), to: Served.self)() & 28 == 28
    }
}
