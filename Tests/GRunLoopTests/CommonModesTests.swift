// SPDX-License-Identifier: Apache-2.0
// Items 156 to 163: the rules for common items, for each kind of item.

import GRunLoop
import TestSupport
import Testing

/// Makes the same checks for a source, an observer, a timer, a descriptor source and a context.
private struct Kinds {
    let loop: GRunLoop
    let scheduled = Recorder()
    let source: GRunLoop.Source
    let observer = GRunLoop.Observer(activities: .entry) { _, _ in }
    let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in }
    let event = EventDescriptor()
    let descriptor: GRunLoop.DescriptorSource
    let context = TestContext()

    init(_ loop: GRunLoop) {
        self.loop = loop
        let scheduled = scheduled
        source = GRunLoop.Source(
            schedule: { _, mode in scheduled("+\(mode)") }, cancel: { _, mode in scheduled("-\(mode)") }, perform: {})
        descriptor = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in }
    }

    func add(_ mode: GRunLoop.Mode) throws {
        loop.add(source, forMode: mode)
        loop.add(observer, forMode: mode)
        loop.add(timer, forMode: mode)
        try loop.add(descriptor, forMode: mode)
        loop.add(GRunLoop.Context(context.pointer), forMode: mode)
    }

    func remove(_ mode: GRunLoop.Mode) {
        loop.remove(source, forMode: mode)
        loop.remove(observer, forMode: mode)
        loop.remove(timer, forMode: mode)
        loop.remove(descriptor, forMode: mode)
        loop.remove(GRunLoop.Context(context.pointer), forMode: mode)
    }

    /// The kinds of items that are in the mode.
    func inMode(_ mode: GRunLoop.Mode) -> [String] {
        let answers = [
            ("source", loop.contains(source, forMode: mode)), ("observer", loop.contains(observer, forMode: mode)),
            ("timer", loop.contains(timer, forMode: mode)), ("descriptor", loop.contains(descriptor, forMode: mode)),
            ("context", loop.contains(GRunLoop.Context(context.pointer), forMode: mode)),
        ]
        return answers.filter(\.1).map(\.0)
    }

    static let all = ["source", "observer", "timer", "descriptor", "context"]
}

@Suite("Common modes") struct CommonModesTests {
    @Test("item 156: common items join a mode as soon as it becomes common")
    func joinsNewCommonMode() async throws {
        try await onFreshThread { loop in
            let kinds = Kinds(loop)
            try kinds.add(.common)
            #expect(kinds.scheduled.take() == ["+kCFRunLoopDefaultMode"])
            #expect(kinds.inMode("M").isEmpty)
            try loop.addCommonMode("M")
            #expect(kinds.inMode("M") == Kinds.all)
            // The source was scheduled under the mode's own name before addCommonMode returned.
            #expect(kinds.scheduled.lines == ["+M"])
        }
    }

    @Test("item 157: items that are added to the common modes join the present common modes and later ones")
    func joinsAll() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            try loop.addCommonMode("N")
            let kinds = Kinds(loop)
            try kinds.add(.common)
            for mode in [.default, "M", "N"] as [GRunLoop.Mode] { #expect(kinds.inMode(mode) == Kinds.all) }
            #expect(kinds.inMode("P").isEmpty)
            try loop.addCommonMode("P")
            #expect(kinds.inMode("P") == Kinds.all)
            #expect(kinds.scheduled.lines.sorted() == ["+M", "+N", "+P", "+kCFRunLoopDefaultMode"])
        }
    }

    @Test("item 158: items that are added to one common mode do not join the others")
    func directMemberIsNotCommon() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            let kinds = Kinds(loop)
            try kinds.add("M")
            #expect(kinds.inMode("M") == Kinds.all)
            #expect(kinds.inMode(.common).isEmpty)
            #expect(kinds.inMode(.default).isEmpty)
            try loop.addCommonMode("N")
            #expect(kinds.inMode("N").isEmpty)
            #expect(kinds.scheduled.lines == ["+M"])
        }
    }

    @Test("item 159: whether the common modes contain an item does not depend on the member modes")
    func containsCommon() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            let direct = Kinds(loop)
            for mode in [.default, "M"] as [GRunLoop.Mode] { try direct.add(mode) }
            #expect(direct.inMode(.common).isEmpty)
            let common = Kinds(loop)
            try common.add(.common)
            #expect(common.inMode(.common) == Kinds.all)
            common.remove("M")
            #expect(common.inMode(.common) == Kinds.all)
        }
    }

    @Test("item 160: a common item that is removed from one mode stays common, and stays in the others")
    func removedFromOneMode() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            let kinds = Kinds(loop)
            try kinds.add(.common)
            _ = kinds.scheduled.take()
            kinds.remove("M")
            #expect(kinds.scheduled.take() == ["-M"])
            #expect(kinds.inMode("M").isEmpty)
            #expect(kinds.inMode(.default) == Kinds.all)
            #expect(kinds.inMode(.common) == Kinds.all)
            try loop.addCommonMode("N")
            #expect(kinds.inMode("N") == Kinds.all)
            #expect(kinds.inMode("M").isEmpty)
        }
    }

    @Test("items 159, 160: a common item stays common even when it is removed from the last mode that it was in")
    func removedFromAllModes() async throws {
        try await onFreshThread { loop in
            let kinds = Kinds(loop)
            try kinds.add(.common)
            kinds.remove(.default)
            #expect(kinds.inMode(.default).isEmpty)
            #expect(kinds.inMode(.common) == Kinds.all)
            try loop.addCommonMode("M")
            #expect(kinds.inMode("M") == Kinds.all)
        }
    }

    @Test("an invalidated item is no longer common, even if it was in no mode")
    func invalidatedCommonItem() async throws {
        try await onFreshThread { loop in
            weak var timer: GRunLoop.Timer?
            weak var observer: GRunLoop.Observer?
            weak var source: GRunLoop.Source?
            do {
                let kinds = Kinds(loop)
                (timer, observer, source) = (kinds.timer, kinds.observer, kinds.source)
                try kinds.add(.common)
                kinds.remove(.default)
                kinds.timer.invalidate()
                kinds.observer.invalidate()
                kinds.source.invalidate()
                kinds.descriptor.invalidate()
                // A context cannot be invalidated.
                #expect(kinds.inMode(.common) == ["context"])
                try loop.addCommonMode("M")
                #expect(kinds.inMode("M") == ["context"])
            }
            #expect(timer == nil)
            #expect(observer == nil)
            #expect(source == nil)
        }
    }

    @Test("item 161: an item that is removed from the common modes leaves all of them, but stays in its private mode")
    func removedFromCommon() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            let kinds = Kinds(loop)
            try kinds.add(.common)
            try kinds.add("Private")
            _ = kinds.scheduled.take()
            kinds.remove(.common)
            for mode in [.default, "M", .common] as [GRunLoop.Mode] { #expect(kinds.inMode(mode).isEmpty) }
            #expect(kinds.inMode("Private") == Kinds.all)
            #expect(kinds.scheduled.lines.sorted() == ["-M", "-kCFRunLoopDefaultMode"])
            // The items do not join a mode that becomes common later.
            try loop.addCommonMode("N")
            #expect(kinds.inMode("N").isEmpty)
        }
    }

    @Test("item 162: removing items that are in a common mode, but are not common, from the common modes does nothing")
    func removedWithoutBeingCommon() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("M")
            let kinds = Kinds(loop)
            for mode in [.default, "M"] as [GRunLoop.Mode] { try kinds.add(mode) }
            _ = kinds.scheduled.take()
            kinds.remove(.common)
            for mode in [.default, "M"] as [GRunLoop.Mode] { #expect(kinds.inMode(mode) == Kinds.all) }
            #expect(kinds.scheduled.lines.isEmpty)
        }
    }

    @Test("item 163: making a mode common a second time has no effect; a common mode stays common and is never removed")
    func commonForGood() async throws {
        try await onFreshThread { loop in
            let kinds = Kinds(loop)
            try kinds.add(.common)
            try loop.addCommonMode("M")
            _ = kinds.scheduled.take()
            kinds.remove("M")
            _ = kinds.scheduled.take()
            // The second time, no item joins again.
            try loop.addCommonMode("M")
            #expect(kinds.inMode("M").isEmpty)
            #expect(kinds.scheduled.lines.isEmpty)

            kinds.remove(.common)
            for _ in 0..<2 { loop.run(mode: "M", for: .zero) }
            #expect(Set(loop.allModes) == [.default, "M"])
            let later = Kinds(loop)
            try later.add(.common)
            #expect(later.inMode("M") == Kinds.all)
        }
    }
}
