// SPDX-License-Identifier: Apache-2.0
// Item 43 without observers: after a handled source, polling and the following sleep are one wait, unless other work
// lies between.

import GRunLoop
import TestSupport
import Testing

@Suite("The sleep after a handled source") struct SleepAfterSourceTests {
    @Test("item 43: unobserved, a pass after a source performs the sources that it has signalled, itself included")
    func signalsFromInside() async throws {
        try await onFreshThread { loop in
            let performed = Recorder()
            let sources = Shared<[GRunLoop.Source]>([])
            let first = loop.source {
                performed("first")
                sources.value[performed.count(of: "first") == 1 ? 0 : 1].signal()
            }
            let second = loop.source {
                performed("second")
                loop.stop()
            }
            sources.value = [first, second]
            // The sources keep their closures, and the closures keep the sources.
            defer { sources.value = [] }
            first.signal()
            #expect(loop.run(for: .seconds(2)) == .stopped)
            #expect(performed.lines == ["first", "first", "second"])
        }
    }

    @Test("item 43: unobserved, a block that the source's block enqueues runs without a wake-up")
    func blocksFromInside() async throws {
        try await onFreshThread { loop in
            let source = loop.source { loop.perform { loop.perform { loop.stop() } } }
            source.signal()
            #expect(loop.run(for: .seconds(2)) == .stopped)
        }
    }

    @Test("item 43: unobserved, a run finishes immediately after a source that removes itself")
    func lastItem() async throws {
        try await onFreshThread { loop in
            let kept = Shared<GRunLoop.Source?>(nil)
            let source = loop.source { kept.value?.invalidate() }
            kept.value = source
            defer { kept.value = nil }
            source.signal()
            #expect(loop.run(for: .seconds(2)) == .finished)
        }
    }

    @Test("item 43: unobserved, a run that should return after a source returns")
    func returnsAfterSource() async throws {
        try await onFreshThread { loop in
            let source = loop.source {}
            source.signal()
            #expect(loop.run(for: .seconds(2), returningAfterSourceHandled: true) == .handledSource)
        }
    }

    @Test("item 43: unobserved, the run sees wake-ups of other threads that arrive while the source performs")
    func wakeUpsMeanwhile() async throws {
        try await onFreshThread { loop in
            let rounds = 200
            let performed = Counter()
            let answered = Counter()
            let other = Shared<GRunLoop.Source?>(nil)
            let answering = LoopThread.running()
            let back = answering.loop.source {
                answered.increment()
                other.value?.signal()
                loop.wakeUp()
            }
            let source = loop.source {
                if performed.increment() == rounds { return loop.stop() }
                back.signal()
                answering.loop.wakeUp()
            }
            other.value = source
            defer { other.value = nil }
            source.signal()
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(answered.value == rounds - 1)
            answering.finish()
        }
    }
}
