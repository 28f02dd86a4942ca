// SPDX-License-Identifier: Apache-2.0
// Bad modes, loops and threads. A message names the fault and the fix, and nothing crashes later.

import GRunLoop
import TestSupport
import Testing

@Suite struct BadInputTests {
    @Test("a mode without a name is a programmer error, and the message names the remedy")
    func emptyModeName() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = GRunLoop.Mode("")
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("GRunLoop.Mode: the name of a mode is empty; pass a name, or use .default"))
    }

    @Test("a mode with a name of 64 KB works as usual")
    func longModeName() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let name = String(repeating: "m", count: 65_536)
            let mode = GRunLoop.Mode(name)
            let almost = GRunLoop.Mode(name.dropLast() + "n")
            #expect(mode != almost)
            let pipe = Pipe()
            let source = loop.source(mode) { trace("source in \(loop.currentMode == mode ? "it" : "another")") }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor")
            }
            try loop.add(descriptor, forMode: mode)
            loop.after(.zero, mode) { trace("timer") }
            loop.on(.entry, mode) { _ in trace("entry") }
            loop.perform(inModes: [mode]) { trace("block") }
            source.signal()
            pipe.send()
            try loop.addCommonMode(mode)
            #expect(loop.run(mode: almost) == .finished)
            for _ in 0..<3 { loop.run(mode: mode, for: .zero) }
            #expect(Set(trace.lines) == ["entry", "block", "source in it", "timer", "descriptor"])
            #expect(loop.contains(source, forMode: mode) && !loop.contains(source, forMode: almost))
            #expect(loop.allModes.contains(mode))
            #expect(loop.description.utf8.count > 65_536)
        }
    }

    @Test("the common modes cannot become a common mode; the message says that they are a set of modes")
    func commonAsCommonMode() async throws {
        try await onFreshThread { loop in
            let messages = try capturingLog { try loop.addCommonMode(.common) }.messages
            #expect(messages.count == 1)
            #expect(
                messages.first?.contains("GRunLoop.addCommonMode: .common stands for all common modes and cannot")
                    == true)
            #expect(loop.allModes == [.default])
        }
    }

    @Test("a loop refuses a timer, observer or descriptor source of another loop, with a message; the item stays there")
    func secondLoop() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in trace("timer") }
            let observer = GRunLoop.Observer(activities: .entry) { _, _ in trace("observer") }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor")
            }
            loop.add(timer, forMode: .default)
            loop.add(observer, forMode: .default)
            try loop.add(descriptor, forMode: .default)
            let messages = Shared<[String]>([])
            LoopThread { other in
                messages.value =
                    capturingLog {
                        for mode: GRunLoop.Mode in [.default, .common] {
                            other.add(timer, forMode: mode)
                            other.add(observer, forMode: mode)
                            try? other.add(descriptor, forMode: mode)
                            other.remove(timer, forMode: mode)
                            other.remove(observer, forMode: mode)
                            other.remove(descriptor, forMode: mode)
                        }
                        if other.contains(timer, forMode: .common) || other.contains(observer, forMode: .common) {
                            trace("a common item")
                        }
                        if other.contains(descriptor, forMode: .common) { trace("a common item") }
                        trace("\(other.run(for: .zero))")
                    }.messages
            }.join()
            for kind in ["Timer", "Observer", "DescriptorSource"] {
                let text =
                    "critical: GRunLoop.add: this \(kind) is in another run loop; remove it from every mode there"
                #expect(messages.value.filter { $0.hasPrefix(text) }.count == 2, "\(messages.value)")
            }
            #expect(messages.value.count == 6)
            #expect(trace.take() == ["finished"])
            pipe.send()
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(Set(trace.lines) == ["observer", "timer", "descriptor"])
            // After its removal here, another loop may have the observer.
            loop.remove(observer, forMode: .default)
            LoopThread { other in
                other.keepAlive()
                other.add(observer, forMode: .default)
                other.run(for: .zero)
            }.join()
            #expect(trace.lines.last == "observer")
        }
    }
}
