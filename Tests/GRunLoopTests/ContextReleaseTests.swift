// SPDX-License-Identifier: Apache-2.0
// The loop holds the last reference to a context. Its sources are released with it: GDestroyNotify is user code.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

@Suite("Contexts that are released") struct ContextReleaseTests {
    /// Adds a context that nobody else holds, with a source whose notification makes every kind of call on the loop.
    /// Returns the context's address.
    private func addContext(to loop: GRunLoop, _ mode: GRunLoop.Mode, _ released: Counter) -> OpaquePointer {
        let context = TestContext()
        let witness = Witness {
            useEverything(loop)
            released.increment()
        }
        _ = GLibSource.timeout(context.pointer, milliseconds: 3_600_000) {
            withExtendedLifetime(witness) {}
            return true
        }
        loop.add(GRunLoop.Context(context.pointer), forMode: mode)
        return context.pointer
    }

    @Test(
        "item 196: no lock is held when a context is released that is removed outside of a run",
        arguments: [.default, .common] as [GRunLoop.Mode])
    func outsideOfARun(mode: GRunLoop.Mode) async throws {
        try await onFreshThread { loop in
            let released = Counter()
            loop.remove(GRunLoop.Context(addContext(to: loop, mode, released)), forMode: mode)
            #expect(released.value == 1)
        }
    }

    @Test(
        "item 196: no lock is held when a context is released that is removed in a run, before the next sleep",
        arguments: [.default, .common] as [GRunLoop.Mode])
    func inARun(mode: GRunLoop.Mode) async throws {
        try await onFreshThread { loop in
            let released = Counter()
            let context = Shared(addContext(to: loop, mode, released))
            loop.keepAlive()
            loop.after(.zero) {
                loop.remove(GRunLoop.Context(context.value), forMode: mode)
                // The run keeps the context until it collects its contexts again.
                #expect(released.value == 0)
            }
            loop.on(.beforeWaiting) { _ in if released.value == 1 { loop.stop() } }
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(released.value == 1)
        }
    }

    @Test("item 196: no lock is held when a context is released that an exit observer or its own source removes")
    func atTheEndOfARun() async throws {
        try await onFreshThread { loop in
            let released = Counter()
            let first = Shared(addContext(to: loop, .default, released))
            loop.on(.exit, repeats: false) { _ in loop.remove(GRunLoop.Context(first.value), forMode: .default) }
            loop.run(for: .zero)
            #expect(released.value == 1)
            let second = Shared(addContext(to: loop, .default, released))
            _ = GLibSource.idle(second.value) {
                loop.remove(GRunLoop.Context(second.value), forMode: .default)
                return false
            }
            loop.run(for: .zero)
            #expect(released.value == 2)
        }
    }

    @Test("item 196: no lock is held when a context is released together with its loop")
    func withItsLoop() async throws {
        try await onFreshThread { _ in
            let released = Counter()
            let thread = LoopThread { loop in
                let mode: GRunLoop.Mode = "its own"
                _ = self.addContext(to: loop, mode, released)
                loop.run(mode: mode, for: .zero)
            }
            thread.join()
            #expect(released.value == 1)
        }
    }
}
