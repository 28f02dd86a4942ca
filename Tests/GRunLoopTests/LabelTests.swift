// SPDX-License-Identifier: Apache-2.0
// The labels that a program gives its items, and where they appear.

import CGRunHeaders
import GRunLoopC
import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopDiagnostics
@testable import GRunLoopMessagePorts

/// A labelled object of any kind.
private struct Labelled: Sendable {
    let kind: String
    let get: @Sendable () -> String?
    let set: @Sendable (String?) -> Void
    let invalidate: @Sendable () -> Void
    /// Nil if the kind has no description.
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

    @Test("every kind of item has a label, which can be set, changed and removed, also after invalidation")
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

    @Test("a description begins with the label, on one line, and shows no label if the item has none")
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

    @Test("a label of 10 MB is stored whole, and shown truncated")
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

    @Test("a label is shown as one line in quotes, whatever it contains")
    func hostile() {
        let shown = quoted(Self.hostile)
        #expect(
            shown
                == #""</b>\u{1B}[31m&<b>\nGRunLoop-CRITICAL: \"faked\"\r\n\u{2028}\u{202E}\\ \0\u{0085}"#
                + "\u{1F469}\u{200D}\u{1F680}\"")
        // One Swift character can have any number of combining marks.
        let marks = quoted("a" + String(repeating: "\u{301}", count: 100_000))
        #expect(marks.unicodeScalars.count == 123)
        // Escaping makes the text longer. It is still truncated at its end.
        let zeros = quoted(String(repeating: "\u{1}", count: 121))
        #expect(zeros == "\"" + String(repeating: "\\u{01}", count: 120) + "…\"")
    }

    // MARK: Where it is shown

    @Test("traces, descriptions of loops and stall reports show the labels")
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

    @Test("a stall report shows the label of its item")
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

    @Test("a new item at the address of a released item does not have its label")
    func addressReuse() {
        var addresses: Set<ObjectIdentifier> = []
        var reused = 0
        for number in 0..<20_000 {
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
            if timer.label != nil { Issue.record("timer \(number) has the label of another") }
            if !addresses.insert(ObjectIdentifier(timer)).inserted { reused += 1 }
            if number % 2 == 0 { timer.label = "\(number)" }
        }
        // Checks items of other kinds too.
        for _ in 0..<20_000 {
            let observer = GRunLoop.Observer(activities: .all) { _, _ in }
            if observer.label != nil { Issue.record("an observer has the label of another item") }
        }
        #expect(reused > 1000, "no address came again: this has proven nothing")
    }

    @Test("releasing 100,000 items with labels keeps the table small")
    func purged() {
        func timer(_ number: Int) -> GRunLoop.Timer {
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in }
            timer.label = "\(number)"
            return timer
        }
        let before = Labels.count
        // Keeps items for a while, because the allocator would otherwise reuse the same addresses immediately.
        var kept: [GRunLoop.Timer] = []
        for number in 0..<100_000 {
            kept.append(timer(number))
            if kept.count == 100 { kept = [] }
        }
        #expect(Labels.count < before * 2 + 1000, "\(Labels.count), of \(before) before")

        // With all items alive, the table keeps every label. It drops them after their items are released.
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

    @Test("removed labels leave no entries in the table")
    func takenAway() {
        let timers = (0..<1000).map { _ in GRunLoop.Timer(interval: .zero, repeats: false) { _ in } }
        // Another test may set a label between the two counts, but not every time.
        let differences = (0..<20).lazy.map { _ in
            for timer in timers { timer.label = "there" }
            let there = Labels.count
            for timer in timers { timer.label = nil }
            return there - Labels.count
        }
        #expect(differences.contains(1000))
    }

    @Test("threads set and read labels while items are released, and each thread reads its own item's label")
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

    @Test("a purge that releases an item's last reference does not hold the table's lock")
    func noUserCodeUnderTheLock() {
        let isOver = Flag()
        let gone = Counter()
        /// Makes a timer whose deinit labels another item.
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

    @Test("a channel has the label that was set last, on any thread, and so has the source that represents it in modes")
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

    @Test("the C functions copy labels; text that is not UTF-8 is logged and changes nothing")
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
