// SPDX-License-Identifier: Apache-2.0
// The identity of loops, and when they are created: part 1.1, items 1 to 6.

import GRunLoop
import TestSupport
import Testing

@Suite struct IdentityTests {
    @Test("item 1: a thread always gets the same loop, and no other thread gets that loop")
    func sameLoop() async throws {
        try await onFreshThread { loop in
            #expect(GRunLoop.current === loop)
            #expect(GRunLoop.current === GRunLoop.current)
            let loops = Shared<[GRunLoop]>([])
            let other = LoopThread { _ in
                loops.update { $0 += [GRunLoop.current, GRunLoop.current] }
            }
            other.join()
            #expect(loops.value[0] === loops.value[1])
            #expect(loops.value[0] !== loop)
            #expect(GRunLoop.main !== loop)
            #expect(GRunLoop.current === loop)
        }
    }

    @Test("item 2: a thread has no loop until it asks for one")
    func madeAtFirstNeed() async throws {
        let found = Shared<[Bool]>([])
        onPlainThread {
            let before = ThreadLoops.currentIfAny == nil
            _ = GRunLoop.main
            _ = GRunLoop.now
            let afterOtherCalls = ThreadLoops.currentIfAny == nil
            let current = GRunLoop.current
            let after = ThreadLoops.currentIfAny === current
            found.value = [before, afterOtherCalls, after]
        }
        #expect(found.value == [true, true, true])
    }

    @Test("item 3: every thread can get the main loop, even if the main thread has never used it")
    func mainLoop() async throws {
        let child = runChild("main-loop-first-touched-elsewhere")
        #expect(child.output == ["the thread got a loop that is not its own", "it is the main thread's", "done"])
        #expect(child.status == 0)
    }

    @Test("item 4: a program cannot create a loop; it gets loops from main and current")
    func noConstructor() async throws {
        #expect(
            try Snippet("let loop = GRunLoop.main; func get() -> GRunLoop { .current }; _ = (loop, get)").problems()
                == [])
        let wrong = """
            _ = GRunLoop()
            _ = GRunLoop(isMain: true)
            class Mine: GRunLoop {}
            """
        let problems = try Snippet(wrong).problems()
        // Each message appears once for GRunLoop() and once for GRunLoop(isMain:).
        let inaccessible = problems.filter {
            $0.contains("initializer is inaccessible due to 'internal' protection level")
        }
        #expect(
            inaccessible.contains { $0.contains(":2:") } && inaccessible.contains { $0.contains(":3:") }, "\(problems)")
        #expect(problems.contains { $0.contains("inheritance from a final class 'GRunLoop'") })
    }

    @Test("item 5: a fresh loop has one mode, the default mode, and that is its only common mode")
    func freshLoop() async throws {
        try await onFreshThread { loop in
            #expect(loop.allModes == [.default])
            let scheduled = Recorder()
            let source = GRunLoop.Source(schedule: { _, mode in scheduled(mode.rawValue) }, perform: {})
            loop.add(source, forMode: .common)
            #expect(scheduled.lines == ["kCFRunLoopDefaultMode"])
            #expect(loop.allModes == [.default])
            #expect(loop.description.contains("common modes = [kCFRunLoopDefaultMode],"))
        }
    }

    @Test("item 6: the current mode is the mode of the run, entry and exit included, and nil outside a run")
    func currentMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let mode: GRunLoop.Mode = "private"
            loop.on(.all, mode) { _ in trace(loop.currentMode?.rawValue ?? "none") }
            loop.on([.entry, .exit], mode) { _ in trace("at the ends: \(loop.currentMode?.rawValue ?? "none")") }
            loop.after(.zero, mode) { trace("timer: \(loop.currentMode?.rawValue ?? "none")") }
            #expect(loop.currentMode == nil)
            #expect(loop.run(mode: mode) == .finished)
            #expect(loop.currentMode == nil)
            #expect(Set(trace.lines) == ["private", "at the ends: private", "timer: private"])
            #expect(trace.count(of: "at the ends: private") == 2)
        }
    }

    @Test("item 6: another thread sees the current mode too")
    func currentModeFromElsewhere() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running("private")
            #expect(thread.loop.currentMode == "private")
            thread.finish()
            #expect(thread.loop.currentMode == nil)
        }
    }
}
