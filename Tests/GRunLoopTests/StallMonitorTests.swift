// SPDX-License-Identifier: Apache-2.0
// Stall monitors: which stalls are reported, and what is not a stall.

import CGRun
import CGRunDiagnostics
import CGRunGLib
import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopDiagnostics

/// The reports of a monitor.
private final class Told: Sendable {
    private let shared = Shared<[GRunLoop.StallReport]>([])

    var reports: [GRunLoop.StallReport] { shared.value }

    func watch(
        _ loop: GRunLoop, threshold: Duration = .milliseconds(20), signal: Int32? = nil
    ) throws -> GRunLoop.StallMonitor {
        try GRunLoop.StallMonitor(loop, threshold: threshold, signal: signal) { [shared] report in
            shared.update { $0.append(report) }
        }
    }

    /// Stalls until the stall is reported.
    @inline(never) func stallUntilTold(_ count: Int = 1) {
        let end = GRunLoop.now.advanced(by: Patience.normal)
        while shared.value.count < count, GRunLoop.now < end { keepSpinning() }
    }

    func wait(for count: Int) -> [GRunLoop.StallReport] {
        _ = shared.wait { $0.count >= count }
        return shared.value
    }
}

@inline(never) private func keepSpinning() { for _ in 0..<1000 { cgrun_keep_frame() } }

/// Spends half of the time in a function that cannot be unwound.
@inline(never) private func stallInLeaf(_ leaf: Leaf, until isAnnounced: () -> Bool) {
    let end = GRunLoop.now.advanced(by: Patience.normal)
    while !isAnnounced(), GRunLoop.now < end {
        let begin = GRunLoop.now
        leaf.spin(100_000)
        let other = GRunLoop.now.advanced(by: begin.duration(to: GRunLoop.now))
        while GRunLoop.now < other { keepSpinning() }
    }
}

/// A function in a page of its own that counts down to zero. No file has a table for unwinding it.
private struct Leaf: @unchecked Sendable {
    private let page: UnsafeMutableRawPointer

    init?() {
        #if arch(x86_64)
            let code: [UInt8] = [0xff, 0xcf, 0x75, 0xfc, 0xc3]
        #elseif arch(arm64)
            let code: [UInt8] = [0x00, 0x04, 0x00, 0x71, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6]
        #endif
        let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let page, page != MAP_FAILED else { return nil }
        page.copyMemory(from: code, byteCount: code.count)
        guard mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 else { return nil }
        self.page = page
    }

    func spin(_ count: UInt32) {
        unsafeBitCast(page, to: (@convention(c) (UInt32) -> Void).self)(count)
    }
}

@Suite("Stall monitors", .serialized) struct StallMonitorTests {
    private static let calls: [(String, GRunLoop.StallReport.Callout, String)] = [
        ("block", .block, "callOutToBlock"), ("source", .source, "callOutToSource"),
        ("timer", .timer, "callOutToTimer"), ("descriptor", .descriptor, "callOutToDescriptorSource"),
        ("observer", .observer(.beforeSources), "callOutToObserver"),
        ("port", .port, "callOutToPort"), ("idle", .idleWork, "callOutToIdleWork"),
    ]

    @Test("a line break in a mode's name does not break the line of a summary")
    func namesOnOneLine() {
        #expect(onOneLine("kCFRunLoopDefaultMode") == "kCFRunLoopDefaultMode")
        #expect(onOneLine("a\nb") == "\"a\\nb\"")
    }

    @Test("items 275, 276: a callout that does not return is reported, and later its end", arguments: calls)
    func kinds(_ name: String, _ callout: GRunLoop.StallReport.Callout, _ function: String) async throws {
        try await onFreshThread { loop in
            let told = Told()
            let pipe = Pipe()
            let hasStalled = Flag()
            @Sendable func stall() {
                guard !hasStalled.isSet else { return }
                hasStalled.set()
                told.stallUntilTold()
            }
            let monitor = try told.watch(loop)
            loop.keepAlive()
            switch name {
            case "block": loop.perform { stall() }
            case "source":
                let source = loop.source { stall() }
                source.label = "stalls"
                source.signal()
            case "timer": loop.after(.zero) { stall() }.label = "stalls"
            case "observer": loop.on(.beforeSources, repeats: false) { _ in stall() }.label = "stalls"
            case "port":
                let port = GRunLoop.Port { _ in stall() }
                port.label = "stalls"
                loop.add(port, forMode: .default)
                _ = port.trySend(GRunLoop.PortMessage(id: 1))
            case "idle":
                let queue = GRunLoop.IdleQueue()
                queue.label = "stalls"
                loop.add(queue, forMode: .default)
                queue.enqueue { stall() }
            default:
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    pipe.drain()
                    stall()
                }
                source.label = "stalls"
                try loop.add(source, forMode: .default)
                pipe.send()
            }
            while !hasStalled.isSet { loop.run(for: .milliseconds(1)) }
            let reports = told.wait(for: 2)
            let first = try #require(reports.first)
            #expect(first.callout == callout && first.mode == .default && first.driver == .loop && first.depth == 1)
            #expect(first.label == (callout == .block ? nil : "stalls"), "\(first)")
            #expect(!first.isOver && first.duration >= .milliseconds(20))
            let frames = first.frames.map(\.description)
            let spinning = frames.firstIndex { $0.contains("stallUntilTold") }
            #expect(spinning != nil, "\(first)")
            #expect((spinning ?? 0) < (frames.firstIndex { $0.contains(function) } ?? -1), "\(first)")
            #expect(reports.count == 2 && reports[1].isOver && reports[1].callout == callout)
            #expect(reports[1].duration >= first.duration)
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("the innermost callout is reported; after a nested run, the outer callout is")
    func nested() async throws {
        try await onFreshThread { loop in
            let told = Told()
            let monitor = try told.watch(loop)
            loop.source {
                loop.after(.zero, "inner") { told.stallUntilTold() }
                loop.run(mode: "inner", for: Patience.normal)
                _ = told.wait(for: 2)
                told.stallUntilTold(3)
            }.signal()
            loop.run(for: .zero)
            let reports = told.wait(for: 4)
            #expect(reports.map(\.callout) == [.timer, .timer, .source, .source])
            #expect(reports.map(\.depth) == [2, 2, 1, 1] && reports.map(\.isOver) == [false, true, false, true])
            #expect(reports.map(\.mode) == ["inner", "inner", .default, .default])
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a waiting loop does not stall: a sleep, many short sleeps, a loop that does not run")
    func waiting() async throws {
        try await onFreshThread { loop in
            let told = Told()
            let monitor = try told.watch(loop, threshold: .milliseconds(5))
            loop.keepAlive()
            loop.run(for: .milliseconds(60))
            for _ in 0..<30 { loop.run(for: .milliseconds(2)) }
            let ticks = Counter()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in ticks.increment() }
            loop.add(timer, forMode: .default)
            while ticks.value < 60 { loop.run(for: .milliseconds(5)) }
            timer.invalidate()
            work(for: .milliseconds(60))
            #expect(told.reports.isEmpty, "\(told.reports)")
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a polling loop does not stall, even if most of its runs call nothing")
    func polling() async throws {
        try await onFreshThread { loop in
            let told = Told()
            loop.keepAlive()
            // Polling them takes nearly all of the time, so the monitor finds a run in progress whenever it looks.
            let idle = (0..<300).map { _ in
                GLibSource.timeout(loop.homeContext?.pointer, milliseconds: 3_600_000) { true }
            }
            let monitor = try told.watch(loop)
            loop.perform {}
            let end = GRunLoop.now.advanced(by: .milliseconds(150))
            while GRunLoop.now < end { loop.run(for: .zero) }
            #expect(told.reports.isEmpty, "\(told.reports)")
            for source in idle { source.destroy() }
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a host that waits in a callback does not stall, nor does its first wait under a new monitor")
    func waitingHost() async throws {
        try await onFreshThread { loop in
            let told = Told()
            loop.keepAlive()
            nonisolated(unsafe) let context = try #require(loop.homeContext).pointer
            let monitor = Shared<GRunLoop.StallMonitor?>(nil)
            let isDone = Flag()
            let source = GLibSource.timeout(context, milliseconds: 1) {
                monitor.value = try? told.watch(loop)
                let timeout = GLibSource.timeout(context, milliseconds: 80) { false }
                g_main_context_iteration(context, 1)
                timeout.destroy()
                isDone.set()
                return false
            }
            iterateHost(context) { isDone.isSet }
            #expect(told.reports.isEmpty, "\(told.reports)")
            source.destroy()
        }
    }

    @Test("in a foreign loop that a callout of ours runs, the host's callback is reported, and not our callout")
    func nestedHost() async throws {
        try await onFreshThread { loop in
            let told = Told()
            loop.keepAlive()
            nonisolated(unsafe) let context = try #require(loop.homeContext).pointer
            let monitor = try told.watch(loop)
            let isDone = Flag()
            loop.after(.zero) {
                let source = GLibSource.timeout(context, milliseconds: 1) {
                    told.stallUntilTold()
                    return false
                }
                source.setName("a click")
                iterateHost(context) { !told.reports.isEmpty }
                source.destroy()
                isDone.set()
            }
            iterateHost(context) { isDone.isSet }
            let report = try #require(told.reports.first)
            #expect(report.callout == .host && report.label == "a click" && report.driver == .host, "\(report)")
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("while the loop sleeps, its monitor sleeps too")
    func parked() async throws {
        let thread = LoopThread.running()
        let monitor = try Told().watch(thread.loop)
        // Waits until the monitor has found that the loop sleeps.
        let watched = thread.loop
        #expect(await eventually { isParked(watched) })
        let looks = monitor.lookCount
        usleep(300_000)
        #expect(monitor.lookCount == looks)
        // A callout wakes the monitor.
        let isCalled = Flag()
        thread.loop.async { isCalled.set() }
        #expect(isCalled.wait())
        #expect(await eventually { monitor.lookCount > looks })
        thread.finish()
    }

    private func isParked(_ loop: GRunLoop) -> Bool {
        cgrun_beat_wants(loop.diagnostics.beat, UInt32(CGRUN_BEAT_PARKED))
    }

    @Test("under a host a foreign callback is reported by its source's name, and our own callouts as usual")
    func hosted() async throws {
        try await onFreshThread { loop in
            let told = Told()
            loop.keepAlive()
            let monitor = try told.watch(loop)
            let context = try #require(loop.homeContext).pointer
            let source = GLibSource.timeout(context, milliseconds: 1) {
                told.stallUntilTold()
                return false
            }
            source.setName("a planted stall")
            iterateHost(context) { !told.reports.isEmpty }
            // The next iteration sees the end of the stall.
            loop.after(.zero) { _ = told.wait(for: 2) }
            iterateHost(context) { told.reports.count > 1 }
            let foreign = told.reports
            #expect(
                foreign.map(\.callout) == [.host, .host]
                    && foreign.map(\.label) == ["a planted stall", "a planted stall"])
            #expect(foreign[0].driver == .host && foreign[0].mode == nil)
            #expect(foreign[0].frames.contains { $0.description.contains("stallUntilTold") }, "\(foreign[0])")
            loop.async { told.stallUntilTold(3) }
            iterateHost(context) { told.reports.count > 2 }
            #expect(told.reports[2].callout == .block && told.reports[2].driver == .host)
            #expect(told.reports[2].label == nil)
            // Nobody iterates the host, which is not a stall.
            let count = told.wait(for: 4).count
            work(for: .milliseconds(80))
            #expect(told.reports.count == count)
            source.destroy()
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a function without unwind tables does not hide its callers")
    func functionWithoutTables() async throws {
        let leaf = try #require(Leaf())
        try await onFreshThread { loop in
            let told = Told()
            let monitor = try told.watch(loop)
            let end = GRunLoop.now.advanced(by: Patience.normal)
            var count = 0
            while count < 8, GRunLoop.now < end {
                // Each stall has two reports: one when it is noticed, and one when it is over.
                let before = told.reports.count
                loop.perform { stallInLeaf(leaf) { told.reports.count > before } }
                loop.run(for: .zero)
                let frames = told.wait(for: before + 2)[before].frames.map(\.description)
                // A thread that has lost the processor also stalls before the block. Its stack is complete then.
                let isInBlock = frames.contains { $0.contains("stallInLeaf") }
                if !isInBlock, frames.contains(where: { $0.contains("functionWithoutTables") }) { continue }
                #expect(isInBlock, "\(frames)")
                count += 1
            }
            #expect(count == 8)
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a signal with a handler of the program's is not used, so the report has no frames")
    func foreignHandler() async throws {
        try await onFreshThread { loop in
            var former = sigaction()
            var own = sigaction()
            own.__sigaction_handler.sa_handler = { _ in }
            sigaction(SIGUSR2, &own, &former)
            let told = Told()
            let (monitor, messages) = try capturingLog { try told.watch(loop, signal: SIGUSR2) }
            #expect(!monitor.hasFrames && messages.count == 1, "\(messages)")
            loop.perform { told.stallUntilTold() }
            loop.run(for: .zero)
            let reports = told.wait(for: 2)
            #expect(reports.map(\.callout) == [.block, .block] && reports[0].frames.isEmpty)
            sigaction(SIGUSR2, &former, nil)
        }
    }

    @Test("a stall of a thread that has blocked the signal has no frames")
    func blockedSignal() async throws {
        try await onFreshThread { loop in
            var blocked = sigset_t()
            sigemptyset(&blocked)
            sigaddset(&blocked, SIGURG)
            pthread_sigmask(SIG_BLOCK, &blocked, nil)
            let told = Told()
            let monitor = try told.watch(loop)
            loop.perform { told.stallUntilTold() }
            loop.run(for: .zero)
            #expect(told.wait(for: 2)[0].frames.isEmpty)
            pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
            // The pending signal belongs to no request, so its handler returns no frames.
            loop.perform { told.stallUntilTold(3) }
            loop.run(for: .zero)
            #expect(!told.wait(for: 4)[2].frames.isEmpty)
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("releasing the callout's last reference can stall in a deinit")
    func lastReference() async throws {
        try await onFreshThread { loop in
            let told = Told()
            let monitor = try told.watch(loop)
            loop.keepAlive()
            func add() {
                let witness = Witness { told.stallUntilTold() }
                loop.add(
                    GRunLoop.Timer(interval: .zero, repeats: false) { _ in withExtendedLifetime(witness) {} },
                    forMode: .default)
            }
            add()
            loop.run(for: .milliseconds(50))
            #expect(told.wait(for: 2).map(\.callout) == [.timer, .timer])
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("a monitor ends if its handler ends it, if its object is released, and with the thread of its loop")
    func ends() async throws {
        let thread = LoopThread.running()
        let held = Shared<GRunLoop.StallMonitor?>(nil)
        let count = Counter()
        held.value = try GRunLoop.StallMonitor(thread.loop, threshold: .milliseconds(5)) { _ in
            held.value?.stop()
            count.increment()
        }
        thread.loop.async { _ = count.wait(for: 1) }
        #expect(count.wait(for: 1))
        var dropped: GRunLoop.StallMonitor? = try Told().watch(thread.loop)
        _ = dropped
        dropped = nil
        let other = try Told().watch(thread.loop)
        var reports = other.reports.makeAsyncIterator()
        thread.finish()
        #expect(await eventually { thread.loop.locked { $0.diagnostics.watchers } == 0 })
        other.stop()
        other.stop()
        #expect(await reports.next() == nil)
        #expect(count.value == 1)
    }

    @Test("two monitors of one loop report the same stall, and the sequences of reports get it")
    func two() async throws {
        try await onFreshThread { loop in
            let (one, other) = (Told(), Told())
            let monitors = try [one.watch(loop), other.watch(loop, threshold: .milliseconds(40))]
            loop.perform {
                one.stallUntilTold()
                other.stallUntilTold()
            }
            loop.run(for: .zero)
            #expect(one.wait(for: 2).count == 2 && other.wait(for: 2).count == 2)
            withExtendedLifetime(monitors) {}
        }
    }

    @Test("the last monitor restores the signal's disposition")
    func givesBack() async throws {
        try await onFreshThread { loop in
            func handler() -> UInt {
                var action = sigaction()
                sigaction(SIGWINCH, nil, &action)
                return unsafeBitCast(action.__sigaction_handler.sa_sigaction, to: UInt.self)
            }
            let former = handler()
            let monitors = try (0..<2).map { _ in try Told().watch(loop, signal: SIGWINCH) }
            #expect(handler() != former)
            for monitor in monitors { monitor.stop() }
            let end = GRunLoop.now.advanced(by: Patience.normal)
            while handler() != former, GRunLoop.now < end { sched_yield() }
            #expect(handler() == former)
        }
    }

    @Test("GRUN_STALLS logs the stalls of every loop; an invalid time span is reported")
    func environment() async throws {
        let logged = runChild("stalls-are-logged").errors
        for line in ["the main run loop has not returned", "the main run loop has returned", "stallLongEnough"] {
            #expect(logged.contains(line), "\(logged)")
        }
        #expect(logged.contains("stall: a callback of the run loop 0x"), "\(logged)")
        #expect(logged.contains("a block in mode kCFRunLoopDefaultMode, driven by the loop"), "\(logged)")
        let refused = runChild("stalls-without-a-span").errors
        #expect(refused.contains("GRUN_STALLS=soon is not a time span, so no stalls are logged"), "\(refused)")
        #expect(!refused.contains("has not returned"), "\(refused)")
    }

    @Test("a stall is reported while another thread holds the loop's lock, and is not over when the lock is free")
    func lockHeld() async throws {
        try await onFreshThread { loop in
            let told = Told()
            let monitor = try told.watch(loop)
            loop.perform {
                let (isHeld, isAnnounced) = (Flag(), Flag())
                let holder = startThread {
                    loop.locked { _ in
                        isHeld.set()
                        isAnnounced.wait()
                    }
                }
                isHeld.wait()
                // Acts as if another callout began: the monitor sees its count for the first time, and nothing else.
                _ = cgrun_pulse_count(loop.diagnostics.pulse)
                told.stallUntilTold()
                isAnnounced.set()
                join(holder)
                // One look of the monitor is in progress, and the next look finds the lock free.
                let looks = monitor.lookCount
                let end = GRunLoop.now.advanced(by: Patience.normal)
                while monitor.lookCount < looks + 3, GRunLoop.now < end { keepSpinning() }
                #expect(monitor.lookCount >= looks + 3 && told.reports.count == 1, "\(told.reports)")
            }
            loop.run(for: .zero)
            let reports = told.wait(for: 2)
            #expect(reports.map(\.isOver) == [false, true])
            let first = try #require(reports.first)
            #expect(first.callout == .unknown && !first.frames.isEmpty, "\(first)")
            withExtendedLifetime(monitor) {}
        }
    }

    #if arch(x86_64)
        @Test("the handler of the signal needs 2 kB of stack besides the kernel's frame")
        func stackOfHandler() async throws {
            try await onFreshThread { loop in
                let told = Told()
                let monitor = try told.watch(loop)
                let size = 65_536
                let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
                let paint: UInt8 = 0xa5
                _ = memory.initializeMemory(as: UInt8.self, repeating: paint)
                var stack = stack_t(ss_sp: memory.baseAddress, ss_flags: 0, ss_size: size)
                #expect(sigaltstack(&stack, nil) == 0)
                loop.perform { told.stallUntilTold() }
                loop.run(for: .zero)
                #expect(!told.wait(for: 2)[0].frames.isEmpty)
                stack.ss_flags = Int32(SS_DISABLE)
                sigaltstack(&stack, nil)
                let used = size - memory.prefix { $0 == paint }.count
                // The kernel's part of the frame is _SC_MINSIGSTKSZ.
                let frame = sysconf(249)
                #expect(used > 0 && used - frame <= 2048, "\(used) bytes, \(frame) of them the kernel's")
                memory.deallocate()
                withExtendedLifetime(monitor) {}
            }
        }
    #endif

    private static let locks =
        [
            ("stall-with-malloc-held", "notice"), ("stall-with-malloc-held-and-a-handler", "notice"),
            ("stall-of-a-timer-with-malloc-held", "notice"),
            ("stall-with-standard-error-held", "notice"), ("stall-with-the-log-held", "notice"),
            ("stall-in-dlopen", "report"), ("stall-in-dlopen-and-a-handler", "report"),
        ] + inCollections

    #if DEBUG
        private static let inCollections: [(String, String)] = []
    #else
        // The report looks these items up in collections. Without optimization, that allocates memory.
        private static let inCollections = ["a-source", "an-observer", "a-port", "a-descriptor"].map {
            ("stall-of-\($0)-with-malloc-held", "notice")
        }
    #endif

    @Test(
        "a stalled thread that holds a lock is reported within 100 ms after the threshold; the names follow later",
        .disabled(if: sanitizer != nil), arguments: locks)
    func whileLocked(_ scenario: String, _ kind: String) async throws {
        // On a busy machine one of the reports may be late.
        var latest: [String] = []
        for _ in 0..<5 {
            let output = await outcome(ofChild: scenario, of: "grun-stall-child").output
            try #require(output.count > 3)
            latest.append(output[0])
            let text = output.joined(separator: "\n")
            #expect(output[1] == kind, "\(text)")
            #expect(text.contains("stallUntilHeard"), "\(text)")
            #expect(kind == "report" || text.contains(" in grun-stall-child+0x"), "\(text)")
            #expect(text.contains("has returned after "), "\(text)")
            #expect(!text.contains("the loop's lock is not free"), "\(text)")
            #expect(!scenario.contains("stall-of") || text.contains(" \"planted\" ("), "\(text)")
            #expect(!text.contains("the linker's lock is free") && !text.contains("no library"), "\(text)")
            if let milliseconds = Int(output[0]), milliseconds <= 300 { return }
        }
        Issue.record("late: \(latest) ms")
    }

    @Test(
        "the signal handler allocates no memory, even after the thread's destructors have run",
        .disabled(if: sanitizer != nil))
    func atTheEndOfAThread() async {
        let output = await outcome(ofChild: "stall-at-the-end-of-a-thread", of: "grun-stall-child").output
        #expect(output == ["0"])
    }

    @Test(
        "the label is reported even if another thread holds the lock of the labels during the stall",
        .disabled(if: sanitizer != nil))
    func labelsHeld() async {
        let text = await outcome(ofChild: "stall-with-the-labels-held", of: "grun-stall-child").output
            .joined(separator: "\n")
        #expect(text.contains(" \"planted\" ("), "\(text)")
    }

    @Test("a stall whose report appears in time has no plain notice", .disabled(if: sanitizer != nil))
    func noNotice() async {
        // On a busy machine a report may be late.
        var isWithout = false
        for _ in 0..<5 where !isWithout {
            let logged = await outcome(ofChild: "stalls-are-logged").errors
            isWithout = logged.contains("has returned") && !logged.contains("when the thread releases a lock")
        }
        #expect(isWithout)
    }

    @Test("the reports can be awaited")
    func awaited() async throws {
        let thread = LoopThread.running()
        let monitor = try GRunLoop.StallMonitor(thread.loop, threshold: .milliseconds(5))
        let reports = monitor.reports
        let isOver = Flag()
        thread.loop.async { isOver.wait() }
        var seen: [Bool] = []
        for await report in reports {
            seen.append(report.isOver)
            isOver.set()
            if report.isOver { break }
        }
        #expect(seen == [false, true])
        thread.finish()
    }
}

extension GRunLoop {
    /// Calls a closure while it holds the loop's lock.
    func locked<Result>(_ body: (GRunLoop) -> Result) -> Result {
        lock.withLock { body(self) }
    }
}
