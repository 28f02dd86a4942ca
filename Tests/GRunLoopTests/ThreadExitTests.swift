// SPDX-License-Identifier: Apache-2.0
// Threads that leave in the middle of a callout: what is on their stack is never come back to, nor released, which a
// sanitizer calls a leak.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Threads that leave by pthread_exit", .disabled(if: sanitizer == "address")) struct ThreadExitTests {
    @Test("join() and waitUntilEnded() of a thread that leaves return, and its end handlers are called")
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

    @Test("a delayed perform whose closure leaves is over, and the others of its loop are let go")
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

    @Test("who starts one that leaves in its set-up gets a thread that has ended")
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

    @Test("one that leaves in virtual time ends the loop that this hides as well")
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
        "item 9: the blocks behind one that leaves are released without being run, those of the step under way as well")
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
