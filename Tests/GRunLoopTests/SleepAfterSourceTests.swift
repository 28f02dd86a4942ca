// SPDX-License-Identifier: Apache-2.0
// Item 43 where nobody observes: after a handled source the look and the sleep that follows are one, unless something
// lies between them.

import GRunLoop
import TestSupport
import Testing

@Suite("The sleep after a handled source") struct SleepAfterSourceTests {
    @Test("item 43: unobserved, a source that signals itself or another is followed by a pass that performs those")
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
            // The sources keep their closures, and those the sources.
            defer { sources.value = [] }
            first.signal()
            #expect(loop.run(for: .seconds(2)) == .stopped)
            #expect(performed.lines == ["first", "first", "second"])
        }
    }

    @Test("item 43: unobserved, a block that the source's block leaves behind runs without a wake-up")
    func blocksFromInside() async throws {
        try await onFreshThread { loop in
            let source = loop.source { loop.perform { loop.perform { loop.stop() } } }
            source.signal()
            #expect(loop.run(for: .seconds(2)) == .stopped)
        }
    }

    @Test("item 43: unobserved, the source that goes with its signal leaves a run that is finished, at once")
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

    @Test("item 43: unobserved, a run that returns after a source does")
    func returnsAfterSource() async throws {
        try await onFreshThread { loop in
            let source = loop.source {}
            source.signal()
            #expect(loop.run(for: .seconds(2), returningAfterSourceHandled: true) == .handledSource)
        }
    }

    @Test("item 43: unobserved, what others wake the loop for while the source performs is seen")
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
