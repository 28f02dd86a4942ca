// SPDX-License-Identifier: Apache-2.0
// Threads that end in the middle of a callout. Objects on their stacks are never released, so the address sanitizer
// reports a leak.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Threads that end by pthread_exit", .disabled(if: sanitizer == "address")) struct ThreadExitTests {
    @Test("join() and waitUntilEnded() return if the thread ends in a callout, and its end handlers are called")
    func workerLeaves() async throws {
        let worker = try GRunLoop.Thread(name: "leaves")
        let trace = Recorder()
        try worker.loop.addEndHandler { trace("end handler") }
        worker.loop.async { pthread_exit(nil) }
        await worker.waitUntilEnded()
        #expect(trace.lines == ["end handler"])
        let joined = Flag()
        let joiner = startThread {
            worker.join()
            joined.set()
        }
        #expect(joined.wait())
        join(joiner)
    }

    @Test("a delayed perform whose closure ends the thread is over, and the other performs of its loop are released")
    func leavesInAPerform() async throws {
        let worker = try GRunLoop.Thread(name: "leaves in a perform")
        let trace = Recorder()
        worker.loop.async {
            let witness = Witness { trace("released") }
            worker.loop.perform(after: .seconds(60)) { withExtendedLifetime(witness) { trace("never") } }
            worker.loop.perform(after: .zero, inModes: [.common]) { pthread_exit(nil) }
        }
        await worker.waitUntilEnded()
        #expect(trace.lines == ["released"])
    }

    @Test("starting a thread whose set-up ends it returns a thread that has ended")
    func leavesInSetUp() async throws {
        let started = Flag()
        let starter = startThread {
            do {
                let worker = try GRunLoop.Thread(name: "leaves at once") { _ in pthread_exit(nil) }
                worker.join()
                started.set()
            } catch {
                Issue.record(error)
            }
        }
        #expect(started.wait())
        join(starter)
    }

    @Test("a thread that ends in virtual time also ends the loop that virtual time hides")
    func leavesInVirtualTime() async throws {
        let trace = Recorder()
        let (loop, isThere, mayLeave) = (Shared<GRunLoop?>(nil), Flag(), Flag())
        let thread = startThread {
            let own = GRunLoop.current
            loop.value = own
            _ = try? own.addEndHandler { trace("real") }
            GRunLoop.withVirtualTime { time in
                _ = try? time.loop.addEndHandler { trace("virtual") }
                isThere.set()
                mayLeave.wait()
                pthread_exit(nil)
            }
        }
        #expect(isThere.wait())
        let refused = Flag()
        let waiting = startThread { [loop] in
            do { try loop.value?.performAndWait { trace("performed") } } catch { refused.set() }
        }
        mayLeave.set()
        join(thread)
        #expect(refused.wait())
        join(waiting)
        #expect(trace.lines == ["virtual", "real"])
    }

    @Test(
        "item 9: if a block ends the thread, later blocks are released without running, also in the current step")
    func leavesInABlockStep() async throws {
        let trace = Recorder()
        let thread = startThread {
            let loop = GRunLoop.current
            loop.keepAlive()
            loop.perform {
                loop.perform { [witness = Witness { trace("next step released") }] in
                    withExtendedLifetime(witness) { trace("run") }
                }
                pthread_exit(nil)
            }
            loop.perform { [witness = Witness { trace("same step released") }] in
                withExtendedLifetime(witness) { trace("run") }
            }
            loop.run(mode: .default)
        }
        join(thread)
        #expect(trace.lines.sorted() == ["next step released", "same step released"])
    }
}
