// SPDX-License-Identifier: Apache-2.0
// Items 164 to 167: runs of common modes, and the name `common`.

import GRunLoop
import TestSupport
import Testing

@Suite("Common modes: runs and names") struct CommonModesRunTests {
    @Test("item 164: making a mode common creates no mode while there are no common items")
    func noModeWithoutItems() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            #expect(loop.allModes == [.default])
            #expect(loop.run(mode: "M", for: .zero) == .finished)
            #expect(loop.allModes == [.default])
            // The mode is common nevertheless, and the first common item creates it.
            loop.keepAlive(.common)
            #expect(Set(loop.allModes) == [.default, "M"])
        }
    }

    @Test("the common modes themselves cannot become common")
    func pseudoMode() async throws {
        try await onFreshThread { loop in
            let messages = try capturingLog { try loop.addCommonMode(.common) }.messages
            #expect(messages.count == 1)
            loop.keepAlive(.common)
            #expect(loop.allModes == [.default])
        }
    }

    @Test(
        "item 165: a block for the common modes runs once, in the first common mode that runs",
        arguments: [true, false])
    func commonBlock(defaultFirst: Bool) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            try loop.addCommonMode("M")
            for mode in [.default, "M", "Private"] as [GRunLoop.Mode] { loop.keepAlive(mode) }
            loop.perform(inModes: [.common]) { record("\(loop.currentMode.map(\.rawValue) ?? "none")") }
            loop.run(mode: "Private", for: .zero)
            #expect(record.lines.isEmpty)
            let order: [GRunLoop.Mode] = defaultFirst ? [.default, "M"] : ["M", .default]
            for mode in order { loop.run(mode: mode, for: .zero) }
            #expect(record.lines == [order[0].rawValue])
        }
    }

    @Test("item 168: blocks for a mode and for the common modes run in the order in which they were enqueued")
    func mergedBlocks() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            for number in 0..<12 {
                let modes: [GRunLoop.Mode] =
                    number % 3 == 0 ? [.common] : number % 3 == 1 ? [.default] : [.common, "M"]
                loop.perform(inModes: modes) { record("\(number)") }
            }
            loop.run(for: .zero)
            #expect(record.lines == (0..<12).map(String.init))
            #expect(loop.run(mode: "M", for: .zero) == .finished)
        }
    }

    @Test("item 166: a mode name with the text of the common name means the common modes, for every kind of item")
    func nameByContent() async throws {
        try await onFreshThread { loop in
            // Makes the name at run time, so that its address differs from the constant's. Mode names must be compared
            // by content.
            let name = GRunLoop.Mode(["kCF", "Run", "Loop", "Common", "Modes"].joined())
            #expect(name == .common)
            let source = GRunLoop.Source {}
            let observer = GRunLoop.Observer(activities: .all) { _, _ in }
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in }
            loop.add(source, forMode: name)
            loop.add(observer, forMode: name)
            loop.add(timer, forMode: name)
            let ran = Counter()
            loop.perform(inModes: [name]) { ran.increment() }
            #expect(loop.allModes == [.default])
            for mode in [.common, .default] as [GRunLoop.Mode] {
                #expect(loop.contains(source, forMode: mode))
                #expect(loop.contains(observer, forMode: mode))
                #expect(loop.contains(timer, forMode: mode))
            }
            loop.run(for: .zero)
            #expect(ran.value == 1)
            loop.remove(source, forMode: name)
            loop.remove(observer, forMode: name)
            loop.remove(timer, forMode: name)
            #expect(!loop.contains(source, forMode: .default))
            #expect(!loop.contains(observer, forMode: .default))
            #expect(!loop.contains(timer, forMode: .default))
            #expect(loop.run(for: .zero) == .finished)
        }
    }

    @Test("item 167: while the loop tracks, a default timer waits and a common timer fires, and both keep their grids")
    func tracking() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode(.tracking)
            let interval = Duration.milliseconds(5)
            let first = soon()
            let (plain, common) = (FireLog(), FireLog())
            let plainTimer = plain.timer(loop, first: first, every: interval)
            let commonTimer = common.timer(loop, first: first, every: interval) { _, _ in loop.stop() }
            loop.add(commonTimer, forMode: .common)

            // Runs until the common timer has fired three times in each mode.
            for mode in [.tracking, .default, .tracking] as [GRunLoop.Mode] {
                let before = plain.fires.count
                for _ in 0..<3 { #expect(loop.run(mode: mode, for: .seconds(20)) == .stopped) }
                #expect((plain.fires.count > before) == (mode == .default))
            }
            #expect(common.fires.count == 9)
            for date in (plain.dates + common.dates).dropFirst() where date != first {
                #expect(date.isOnGrid(from: first, interval))
            }
            #expect(plain.dates.first == first)
            #expect(plainTimer.isValid)
        }
    }
}
