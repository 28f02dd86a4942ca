// SPDX-License-Identifier: Apache-2.0
// What a program calls its items, and where that is shown.

import CGRunHeaders
import GRunLoopC
import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopDiagnostics
@testable import GRunLoopMessagePorts

/// Anything that has a label.
private struct Labelled: Sendable {
    let kind: String
    let get: @Sendable () -> String?
    let set: @Sendable (String?) -> Void
    let invalidate: @Sendable () -> Void
    /// Nil: it has none.
    let description: (@Sendable () -> String)?

    init<Item: GRunLoop.Item & CustomStringConvertible>(
        _ kind: String, _ item: Item, _ label: ReferenceWritableKeyPath<Item, String?> & Sendable
    ) {
        self.kind = kind
        get = { item[keyPath: label] }
        set = { item[keyPath: label] = $0 }
        invalidate = { item.invalidate() }
        description = { item.description }
    }

    init(_ channel: GRunLoop.Channel<Int>) {
        kind = "channel"
        get = { channel.label }
        set = { channel.label = $0 }
        invalidate = { channel.invalidate() }
        description = nil
    }

    static func withAll(_ body: (Self) -> Void) throws {
        let child = startShell("exit 0")
        defer { waitpid(child, nil, 0) }
        for item in try all(child) { body(item) }
    }

    private static func all(_ child: pid_t) throws -> [Self] {
        [
            Self("source", GRunLoop.Source {}, \.label),
            Self("descriptor", GRunLoop.DescriptorSource(descriptor: 0) { _, _ in }, \.label),
            Self("signal", try GRunLoop.SignalSource(SIGWINCH) { _, _ in }, \.label),
            Self("child", try GRunLoop.ChildSource(pid: child) { _, _ in }, \.label),
            Self("message port", try GRunLoop.MessagePort(nil) { _ in }, \.label),
            Self("timer", GRunLoop.Timer(interval: .zero, repeats: false) { _ in }, \.label),
            Self("observer", GRunLoop.Observer(activities: .all) { _, _ in }, \.label),
            Self("idle queue", GRunLoop.IdleQueue(), \.label),
            Self("port", GRunLoop.Port { _ in }, \.label),
            Self(GRunLoop.Channel<Int>()),
        ]
    }
}

@Suite("Labels", .serialized) struct LabelTests {
    private static let hostile =
        "</b>\u{1B}[31m&<b>\nGRunLoop-CRITICAL: \"faked\"\r\n\u{2028}\u{202E}\\ \u{0}\u{85}\u{1F469}\u{200D}\u{1F680}"

    // MARK: Setting and getting

    @Test("every kind of item has a label, which can be set, changed and taken away, also once it is invalid")
    func everyKind() throws {
        try Labelled.withAll { item in
            #expect(item.get() == nil, "\(item.kind)")
            for text in ["autosave", "", Self.hostile, "another"] {
                item.set(text)
                #expect(item.get() == text, "\(item.kind)")
            }
            item.invalidate()
            #expect(item.get() == "another", "\(item.kind)")
            item.set("late")
            #expect(item.get() == "late", "\(item.kind)")
            item.set(nil)
            #expect(item.get() == nil, "\(item.kind)")
            item.set(nil)
            #expect(item.get() == nil, "\(item.kind)")
        }
    }

    @Test("a description has the label first, on one line, and none of an item that has none")
    func descriptions() throws {
        try Labelled.withAll { item in
            guard let description = item.description else { return }
            let plain = description()
            #expect(!plain.contains("label"), "\(plain)")
            item.set("autosave")
            #expect(description().contains(">{label = \"autosave\", "), "\(description())")
            item.set("")
            #expect(description().contains(">{label = \"\", "), "\(description())")
            item.set(Self.hostile)
            #expect(description().contains(quoted(Self.hostile)), "\(description())")
            #expect(!description().contains("\n"))
            item.set(nil)
            #expect(!description().contains("label"))
        }
    }

    @Test("a label of 10 MB is kept whole, and shown cut")
    func large() {
        let text = String(repeating: "0123456789", count: 1_000_000)
        let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
        timer.label = text
        #expect(timer.label == text)
        #expect(timer.description.contains("label = \"\(text.prefix(120))…\", "))
        #expect(timer.description.utf8.count < 1000)
        timer.label = String(text.prefix(120))
        #expect(timer.description.contains("label = \"\(text.prefix(120))\", "))
    }

    @Test("what is shown is one line in quotes, whatever was written")
    func hostile() {
        let shown = quoted(Self.hostile)
        #expect(
            shown
                == #""</b>\u{1B}[31m&<b>\nGRunLoop-CRITICAL: \"faked\"\r\n\u{2028}\u{202E}\\ \0\u{0085}"#
                + "\u{1F469}\u{200D}\u{1F680}\"")
        // What is one character for Swift may have any number of marks.
        let marks = quoted("a" + String(repeating: "\u{301}", count: 100_000))
        #expect(marks.unicodeScalars.count == 123)
        // Escaped, it is longer, and still has its end.
        let zeros = quoted(String(repeating: "\u{1}", count: 121))
        #expect(zeros == "\"" + String(repeating: "\\u{01}", count: 120) + "…\"")
    }

    // MARK: Where it is shown

    @Test("a trace, a loop's description and a stall's report have the labels")
    func shown() async throws {
        try await onFreshThread { loop in
            let trace = GRunLoop.Trace()
            let pipe = Pipe()
            let source = loop.source(order: 3) {}
            source.label = "changes"
            let timer = loop.after(.zero) {}
            timer.label = "autosave"
            let observer = loop.on(.entry) { _ in }
            observer.label = "redraw"
            let port = GRunLoop.Port { _ in }
            port.label = "commands"
            loop.add(port, forMode: .default)
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in pipe.drain() }
            descriptor.label = "input"
            try loop.add(descriptor, forMode: .default)
            let queue = GRunLoop.IdleQueue()
            queue.label = "measuring"
            loop.add(queue, forMode: .default)
            let early = GRunLoop.Channel<Int>()
            early.label = "early"
            early.receive(on: loop) { _ in }
            let late = GRunLoop.Channel<Int>()
            late.receive(on: loop) { _ in }
            late.label = "late"

            loop.startTracing(trace)
            source.signal()
            pipe.send()
            _ = port.trySend(GRunLoop.PortMessage())
            #expect(early.trySend(1) == .enqueued && late.trySend(1) == .enqueued)
            while loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource {}
            loop.stopTracing()
            let lines = Set(trace.lines.map { String($0.drop { $0 == " " }) })
            let expected = [
                "source \"changes\" (order 3)", "timer \"autosave\"", "observer \"redraw\" (order 0)",
                "port \"commands\"", "descriptor \(pipe.readEnd) \"input\"", "source \"early\" (order 0)",
                "source \"late\" (order 0)",
            ]
            for line in expected { #expect(lines.contains(line), "\(line) is not in \(trace.lines)") }

            timer.label = nil
            #expect(trace.lines.contains { $0.hasSuffix("timer") })
            let description = loop.description
            let labels = ["changes", "redraw", "commands", "input", "measuring", "early", "late"]
            for label in labels { #expect(description.contains("label = \"\(label)\""), "\(label)") }
            late.label = nil
            early.label = "renamed"
            #expect(!loop.description.contains("\"late\"") && loop.description.contains("\"renamed\""))
        }
    }

    @Test("the report of a stall has the label of its item")
    func stall() async throws {
        try await onFreshThread { loop in
            let told = Shared<[GRunLoop.StallReport]>([])
            let monitor = try GRunLoop.StallMonitor(loop, threshold: .milliseconds(20)) { report in
                told.update { $0.append(report) }
            }
            loop.after(.zero) { _ = told.wait { !$0.isEmpty } }.label = "auto\nsave"
            #expect(loop.run(mode: .default, for: Patience.normal) == .finished)
            #expect(told.value.first?.label == "auto\nsave")
            #expect(told.value.first?.summary.contains(#"a timer "auto\nsave""#) == true)
            monitor.stop()
        }
    }

    // MARK: The table

    @Test("an item that has a dead one's address does not have its label")
    func addressReuse() {
        var addresses: Set<ObjectIdentifier> = []
        var reused = 0
        for number in 0..<20_000 {
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
            if timer.label != nil { Issue.record("timer \(number) has the label of another") }
            if !addresses.insert(ObjectIdentifier(timer)).inserted { reused += 1 }
            if number % 2 == 0 { timer.label = "\(number)" }
        }
        // Of other kinds, too.
        for _ in 0..<20_000 {
            let observer = GRunLoop.Observer(activities: .all) { _, _ in }
            if observer.label != nil { Issue.record("an observer has the label of another item") }
        }
        #expect(reused > 1000, "no address came again: this has proven nothing")
    }

    @Test("100,000 items with labels that go leave the table small")
    func purged() {
        func timer(_ number: Int) -> GRunLoop.Timer {
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
            timer.label = "\(number)"
            return timer
        }
        let before = Labels.count
        // Addresses come again at once unless others are in between: kept for a while.
        var kept: [GRunLoop.Timer] = []
        for number in 0..<100_000 {
            kept.append(timer(number))
            if kept.count == 100 { kept = [] }
        }
        #expect(Labels.count < before * 2 + 1000, "\(Labels.count), of \(before) before")

        // All at once: none is dropped while it lives, and all are once others have as many again.
        kept = (0..<100_000).map(timer)
        #expect(Labels.count >= 100_000)
        #expect(kept.indices.allSatisfy { kept[$0].label == "\($0)" })
        kept = []
        for number in 0..<200_000 {
            kept.append(timer(number))
            if kept.count == 100 { kept = [] }
        }
        #expect(Labels.count < before * 2 + 1000, "\(Labels.count), of \(before) before")
    }

    @Test("labels that are taken away leave nothing")
    func takenAway() {
        let timers = (0..<1000).map { _ in GRunLoop.Timer(interval: .zero, repeats: false) { _ in } }
        // Another test may set a label between the two counts, but not each time.
        let differences = (0..<20).lazy.map { _ in
            for timer in timers { timer.label = "there" }
            let there = Labels.count
            for timer in timers { timer.label = nil }
            return there - Labels.count
        }
        #expect(differences.contains(1000))
    }

    @Test("threads set and read labels while items go, and each reads what was given to its item")
    func threads() {
        let shared = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
        let wrong = Counter()
        let threads = (0..<4).map { thread in
            LoopThread { _ in
                for round in 0..<300 {
                    let items = (0..<40).map { _ in GRunLoop.Observer(activities: .all) { _, _ in } }
                    for (index, item) in items.enumerated() {
                        if item.label != nil { wrong.increment() }
                        if index % 3 != 0 { item.label = "\(thread) \(round) \(index)" }
                    }
                    shared.label = round % 5 == 0 ? nil : "\(thread)"
                    if let label = shared.label, !(0..<4).contains(Int(label) ?? -1) { wrong.increment() }
                    _ = shared.description
                    for (index, item) in items.enumerated() {
                        if item.label != (index % 3 != 0 ? "\(thread) \(round) \(index)" : nil) { wrong.increment() }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(wrong.value == 0)
    }

    @Test("what an item holds goes without the table's lock, when a purge was the last to hold the item")
    func noUserCodeUnderTheLock() {
        let isOver = Flag()
        let gone = Counter()
        /// Its deinit names another item.
        @Sendable func timer() -> GRunLoop.Timer {
            let witness = Witness {
                let other = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
                other.label = "in a deinit"
                if other.label == "in a deinit" { gone.increment() }
            }
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in withExtendedLifetime(witness) {} }
            timer.label = "goes"
            return timer
        }
        let dropping = LoopThread { _ in
            while !isOver.isSet { for _ in 0..<50 { _ = timer() } }
        }
        var kept: [GRunLoop.Timer] = []
        for _ in 0..<20_000 {
            kept.append(timer())
            if kept.count == 300 { kept = [] }
        }
        isOver.set()
        dropping.join()
        #expect(gone.value >= 19_700)
    }

    @Test("a channel is called what was set last, on whatever thread, and so is the source by which it is in modes")
    func channelOnThreads() async throws {
        try await onFreshThread { loop in
            for round in 0..<50 {
                let channel = GRunLoop.Channel<Int>()
                let threads = (0..<2).map { thread in
                    LoopThread { _ in for turn in 0..<5 { channel.label = "\(round) \(thread) \(turn)" } }
                }
                channel.receive(on: loop) { _ in }
                for thread in threads { thread.join() }
                let label = try #require(channel.label)
                #expect(loop.description.contains("label = \"\(label)\""))
                channel.invalidate()
            }
        }
    }

    // MARK: C

    @Test("C gives and gets copies, and text that is no UTF-8 is told of and changes nothing")
    func fromC() {
        let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
        let pointer = OpaquePointer(Unmanaged.passUnretained(timer).toOpaque())
        grun_timer_set_label(pointer, "from C")
        #expect(timer.label == "from C")
        let messages = capturingLog { grun_timer_set_label(pointer, [CChar(bitPattern: 0xFF), 0]) }.messages
        #expect(messages.count == 1 && messages.first?.contains("g_utf8_validate (label, -1, NULL)") == true)
        let copy = grun_timer_copy_label(pointer)
        #expect(copy.map { String(cString: $0) } == "from C")
        free(copy)
        grun_timer_set_label(pointer, nil)
        #expect(timer.label == nil && grun_timer_copy_label(pointer) == nil)
    }
}
