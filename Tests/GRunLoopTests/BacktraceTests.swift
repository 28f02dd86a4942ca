// SPDX-License-Identifier: Apache-2.0
// The frames of a backtrace name the kind of each callout: part 1.14, item 202.

import GRunLoop
import TestSupport
import Testing

@Suite struct BacktraceTests {
    @Test("item 202: every kind of callout passes through a frame of its own name")
    func frames() async throws {
        try await onFreshThread { loop in
            let found = Shared<[String: [String]]>([:])
            @Sendable func note(_ name: String) {
                let frames = functionsOnTheStack().filter {
                    $0.contains("callOutTo") || $0.contains("MainDispatchQueue")
                }
                found.update { $0[name] = frames }
            }
            loop.on(.entry, repeats: false) { _ in note("observer") }
            loop.perform { note("block") }
            loop.source { note("source") }.signal()
            loop.after(.zero) { note("timer") }
            loop.perform(after: .zero) { note("delayed perform") }
            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                note("descriptor")
            }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            for _ in 0..<4 { loop.run(for: .zero) }
            let expected = [
                "observer": "callOutToObserver", "block": "callOutToBlock", "source": "callOutToSource",
                "timer": "callOutToTimer", "delayed perform": "callOutToPerform",
                "descriptor": "callOutToDescriptorSource",
            ]
            for (name, function) in expected {
                let frames = try #require(found.value[name], "\(name) was not called")
                #expect(frames.count == 1 && frames[0].hasPrefix(function + "("), "\(name): \(frames)")
            }
        }
    }
}
