// SPDX-License-Identifier: Apache-2.0
// If other threads own every context of a loop, the loop sleeps with a descriptor of its own.

import CGRunGLib
import Glibc
import TestSupport
import Testing

@testable import GRunLoop

@Suite struct OwnedElsewhereTests {
    @Test(
        "items 67, 69: each wake-up of a loop whose contexts other threads own is one pass, after which it sleeps again"
    )
    func wokenByItsDescriptor() async throws {
        let context = TestContext()
        let trace = Recorder()
        let thread = LoopThread { loop in
            g_main_context_push_thread_default(context.pointer)
            loop.keepAlive()
            g_main_context_pop_thread_default(context.pointer)
            let owner = ContextOwner(context.pointer)
            loop.on(.afterWaiting) { _ in
                // The wake-up must be consumed. Otherwise each wait would end immediately, forever.
                var record = pollfd(fd: loop.wakeDescriptor, events: Int16(POLLIN), revents: 0)
                trace("\(record.fd >= 0) \(poll(&record, 1, 0))")
            }
            loop.run(mode: .default)
            owner.letGo()
        }
        for count in 1...3 {
            thread.waitUntilAsleep()
            thread.loop.wakeUp()
            #expect(trace.wait(forCount: count))
        }
        thread.finish()
        #expect(Set(trace.lines) == ["true 0"])
    }

    @Test(
        "a run serves a context from its release by another thread until it leaves the mode, and then frees it")
    func comesAndGoes() async throws {
        let context = TestContext()
        let trace = Recorder()
        let owner = ContextOwner(context.pointer)
        let idle = GLibSource.idle(context.pointer) {
            trace("dispatched")
            return false
        }
        let thread = LoopThread { loop in
            loop.keepAlive()
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            loop.run(mode: .default)
        }
        func isFree() -> Bool {
            guard g_main_context_acquire(context.pointer) != 0 else { return false }
            g_main_context_release(context.pointer)
            return true
        }
        thread.waitUntilAsleep()
        #expect(trace.lines == [])
        owner.letGo()
        thread.loop.wakeUp()
        #expect(trace.wait(for: "dispatched"))
        #expect(!isFree())
        thread.loop.remove(GRunLoop.Context(context.pointer), forMode: .default)
        #expect(waitUntil { isFree() })
        thread.finish()
        withExtendedLifetime(idle) {}
    }
}
