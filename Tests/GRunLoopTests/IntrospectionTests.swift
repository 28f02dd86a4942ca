// SPDX-License-Identifier: Apache-2.0
// The queries of a loop's state: part 1.14, items 198 to 201.

import GRunLoop
import TestSupport
import Testing

@Suite struct IntrospectionTests {
    @Test("item 198: allModes names every mode that was ever used, and always the default mode")
    func allModes() async throws {
        try await onFreshThread { loop in
            #expect(loop.allModes == [.default])
            let source = loop.keepAlive("of a source")
            let timer = loop.after(.seconds(1), "of a timer") {}
            let observer = loop.on(.all, "of an observer") { _ in }
            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
            try loop.add(descriptor, forMode: "of a descriptor")
            loop.perform(inModes: ["of a block"]) {}
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: "of a context")
            let expected: Set<GRunLoop.Mode> = [
                .default, "of a source", "of a timer", "of an observer", "of a descriptor", "of a block",
                "of a context",
            ]
            #expect(Set(loop.allModes) == expected)
            #expect(loop.allModes.count == expected.count)
            // Modes are never removed.
            source.invalidate()
            timer.invalidate()
            observer.invalidate()
            descriptor.invalidate()
            loop.remove(GRunLoop.Context(context.pointer), forMode: "of a context")
            loop.run(mode: "of a block", for: .zero)
            #expect(Set(loop.allModes) == expected)
        }
    }

    @Test("item 199: an unknown mode contains nothing, and querying it does not create it")
    func containsInUnknownMode() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let source = loop.keepAlive()
            let timer = loop.after(.seconds(1)) {}
            let observer = loop.on(.all) { _ in }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
            try loop.add(descriptor, forMode: .default)
            #expect(!loop.contains(source, forMode: "unknown"))
            #expect(!loop.contains(timer, forMode: "unknown"))
            #expect(!loop.contains(observer, forMode: "unknown"))
            #expect(!loop.contains(descriptor, forMode: "unknown"))
            #expect(loop.contexts(forMode: "unknown") == [])
            #expect(loop.nextFireDate(forMode: "unknown") == nil)
            loop.remove(source, forMode: "unknown")
            loop.remove(timer, forMode: "unknown")
            loop.remove(observer, forMode: "unknown")
            loop.remove(descriptor, forMode: "unknown")
            #expect(loop.allModes == [.default])
            #expect(loop.contains(source, forMode: .default) && loop.contains(timer, forMode: .default))
            #expect(loop.contains(observer, forMode: .default) && loop.contains(descriptor, forMode: .default))
        }
    }

    @Test("item 200: a loop's description has its flags, its modes, and every mode's items, descriptors and deadlines")
    func loopDescription() async throws {
        try await onFreshThread { loop in
            let empty = loop.description
            for part in [
                "wake-up pending = No", "stopped = No", "ignoreWakeUps = Yes", "current mode = (none)",
                "common modes = [kCFRunLoopDefaultMode]", "common mode items = (none)", "<mode kCFRunLoopDefaultMode>{",
                "epoll = -1", "sources0 = (none)", "sources1 = (none)", "observers = (none)", "timers = (none)",
                "soft deadline in: never / hard deadline in: never",
            ] {
                #expect(empty.contains(part), "\(part) in \(empty)")
            }
            let pipe = Pipe()
            let source = loop.keepAlive(.common)
            let timer = GRunLoop.Timer(
                fireAt: GRunLoop.now.advanced(by: .seconds(100)), tolerance: .seconds(50)
            ) { _ in }
            loop.add(timer, forMode: "private")
            let observer = loop.on(.entry, "private") { _ in }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
            try loop.add(descriptor, forMode: "private")
            try loop.addCommonMode("second")
            let inside = Shared("")
            loop.perform(inModes: ["private"]) {
                loop.stop()
                inside.value = loop.description
            }
            loop.run(mode: "private", for: .zero)
            let text = inside.value
            for part in [
                "current mode = private", "stopped = Yes", "wake-up pending = Yes", "ignoreWakeUps = No",
                "common modes = [kCFRunLoopDefaultMode, second]", "<mode private>{", "<mode second>{",
            ] {
                #expect(text.contains(part), "\(part) in \(text)")
            }
            // Every mode shows its own items, and the common items come before all modes.
            let sections = text.split(separator: "<mode ").map(String.init)
            let mode = Dictionary(uniqueKeysWithValues: sections.dropFirst().map { ($0.prefix { $0 != ">" }, $0) })
            #expect(sections[0].contains(source.description))
            #expect(mode["second"]?.contains(source.description) == true)
            #expect(mode["private"]?.contains(source.description) == false)
            for item in [observer.description, descriptor.description] {
                #expect(mode["private"]?.contains(item) == true)
            }
            #expect(mode["private"]?.contains("<GRunLoop.Timer") == true)
            #expect(mode["private"]?.contains("epoll = -1") == false)
            let deadlines = text.split(separator: "\n").first {
                $0.contains("soft deadline in: ") && !$0.contains("never")
            }
            let words = (deadlines ?? "").split(separator: " ").compactMap { Double($0) }
            #expect(
                words.count == 2 && words[0] > 90 && words[0] <= 100 && words[1] > 140 && words[1] <= 150, "\(text)")
        }
    }

    @Test("item 201: the descriptions of items have their flags and numbers")
    func itemDescriptions() async throws {
        try await onFreshThread { loop in
            func check(_ description: String, _ parts: [String]) {
                for part in parts { #expect(description.contains(part), "\(part) in \(description)") }
            }
            let source = GRunLoop.Source(order: 7, schedule: { _, _ in }, perform: {})
            check(
                source.description,
                [
                    "signalled = No", "valid = Yes", "order = 7", "context = {version = 0", "perform = closure",
                    "schedule = closure", "cancel = none",
                ])
            source.signal()
            check(source.description, ["signalled = Yes"])
            source.invalidate()
            check(source.description, ["signalled = No", "valid = No"])

            let descriptor = GRunLoop.DescriptorSource(descriptor: 5, conditions: [.readable, .hangUp]) { _, _ in }
            check(
                descriptor.description,
                ["valid = Yes", "version = 1", "descriptor = 5", "conditions = readable+hangUp"])
            descriptor.invalidate()
            check(descriptor.description, ["valid = No"])

            let observer = GRunLoop.Observer(activities: [.beforeWaiting, .exit], repeats: false, order: -3) { _, _ in }
            check(
                observer.description,
                ["valid = Yes", "activities = 0xa0", "repeats = No", "order = -3", "callout = closure"])
            observer.invalidate()
            check(observer.description, ["valid = No"])

            let inside = Shared("")
            let timer = GRunLoop.Timer(
                fireAt: GRunLoop.now, interval: .seconds(10), tolerance: .seconds(2)
            ) { inside.value = $0.description }
            loop.add(timer, forMode: .default)
            check(
                timer.description,
                [
                    "valid = Yes", "firing = No", "interval = 10.0 seconds", "tolerance = 2.0 seconds",
                    "next fire date = ",
                    "callout = closure",
                ])
            loop.run(for: .zero)
            check(inside.value, ["firing = Yes"])
            check(timer.description, ["firing = No", "next fire date = 9."])
            timer.invalidate()
            check(timer.description, ["valid = No"])
        }
    }
}
