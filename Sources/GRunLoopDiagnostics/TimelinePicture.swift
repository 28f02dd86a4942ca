// SPDX-License-Identifier: Apache-2.0
// The content of a timeline's picture: spans, stages and wake-ups, made from the records of a recording.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc

/// The content of a picture. Except for `start`, all times are nanoseconds since the recording began.
struct TimelinePicture {
    struct Item {
        /// The name of an `ItemKind`.
        let kind: String
        let label: String?
        /// The name of the function that the item calls; nil if this name is not known.
        let calls: String?
        let detail: String?
    }

    struct Span {
        enum Kind: Int { case run, callout, sleep, host }
        let kind: Kind
        let begin: Nanoseconds
        /// A span that ends before it begins is not shown.
        var end: Nanoseconds
        let depth: Int
        /// The index of the mode in `modes`; -1 if the mode is not known.
        let mode: Int
        let item: Int
        /// How late a timer or a delayed perform was; 0 for any other span.
        let late: Nanoseconds
    }

    struct Mark {
        let time: Nanoseconds
        let stage: Int
        let depth: Int
    }

    struct WakeUp {
        let sent: Nanoseconds
        let received: Nanoseconds
        let thread: Int32
    }

    struct Loop {
        let name: String
        let thread: Int32
        let isHosted: Bool
        let from: Nanoseconds
        let to: Nanoseconds
        /// How many records were overwritten because the ring was full.
        let overwritten: UInt64
        let spans: [Span]
        let marks: [Mark]
        let wakeUps: [WakeUp]
    }

    let program: String
    let process: Int32
    /// The time when the recording began, since 1970.
    let start: timespec
    let duration: Nanoseconds
    private(set) var modes: [String] = []
    private(set) var items: [Item] = []
    private(set) var loops: [Loop] = []
    private(set) var threads: [Int32: String] = [:]
    /// How many recorders were dropped from the recording, because too many recorders had ended.
    let droppedCount: Int

    private var modeNumbers: [String: Int] = [:]
    private var names: [UInt: String?] = [:]
    private var lookedUp: Set<Int32> = []

    init(of recording: Recording, now: Nanoseconds) {
        program = cgrun_program().map { String(cString: $0) } ?? "program"
        process = getpid()
        let times = recording.times(at: now)
        start = times.clock
        duration = times.end - times.began
        let content = recording.content
        droppedCount = content.droppedCount
        for isMain in [true, false] {
            for recorder in content.recorders where recorder.isMain == isMain {
                add(recorder, from: times.began, to: min(times.end, recorder.endTime))
            }
        }
    }

    private mutating func add(_ recorder: Recorder, from began: Nanoseconds, to end: Nanoseconds) {
        let (all, lost, known, modes) = recorder.read()
        // Leave out records that were made after a stop, or while other loops were being read.
        let records = all.filter { $0.time <= end }
        let own = modes.map { number(ofMode: $0) }
        var itemNumbers: [UInt32: Int] = [:]
        for (number, item) in known.sorted(by: { $0.number < $1.number }) {
            itemNumbers[number] = items.count
            items.append(shown(item))
        }
        var spans = SpanMaker(began: began, modes: own, items: itemNumbers)
        for record in records { spans.add(record) }
        spans.finish(at: end)
        threads[recorder.thread] = threadName(recorder)
        for wakeUp in spans.wakeUps where lookedUp.insert(wakeUp.thread).inserted && threads[wakeUp.thread] == nil {
            threads[wakeUp.thread] = Self.name(ofThread: wakeUp.thread)
        }
        loops.append(
            Loop(
                name: name(of: recorder), thread: recorder.thread, isHosted: recorder.wasHosted,
                from: max(0, (records.first?.time ?? end) - began), to: max(0, end - began), overwritten: lost,
                spans: spans.spans.filter { $0.end >= $0.begin },
                marks: spans.marks, wakeUps: spans.wakeUps))
    }

    private mutating func number(ofMode name: String) -> Int {
        if let known = modeNumbers[name] { return known }
        modeNumbers[name] = modes.count
        modes.append(name)
        return modes.count - 1
    }

    private mutating func shown(_ item: Recorder.Item) -> Item {
        Item(
            kind: item.kind.map { "\($0)" } ?? "none", label: item.label,
            calls: item.code == 0 ? nil : function(at: item.code), detail: item.detail)
    }

    private mutating func function(at address: UInt) -> String? {
        if let known = names[address] { return known }
        let name = GRunLoop.StackFrame(at: address).function.flatMap(FunctionName.brief).map(shortened)
        names[address] = name
        return name
    }

    private func name(of recorder: Recorder) -> String {
        if recorder.isVirtual { return "virtual time" }
        if recorder.isMain { return "main" }
        // A thread without its own name inherits the name of the thread that created it. This is usually the name of
        // the program.
        let name = threads[recorder.thread] ?? ""
        return name.isEmpty || program.hasPrefix(name) ? "thread \(recorder.thread)" : name
    }

    /// Returns the name of the recorder's thread. If the recorder or the thread has ended, this is the name that the
    /// thread had when the recording of its loop began.
    private func threadName(_ recorder: Recorder) -> String {
        // If the thread has ended, another thread may have the same id now.
        recorder.hasEnded ? recorder.threadName : Self.name(ofThread: recorder.thread) ?? recorder.threadName
    }

    private static func name(ofThread thread: Int32) -> String? {
        guard let name = cgrun_copy_thread_name(thread) else { return nil }
        defer { free(name) }
        return String(cString: name)
    }
}

/// Turns the records of one loop, in their order, into spans, stages and wake-ups.
private struct SpanMaker {
    typealias Span = TimelinePicture.Span

    private let began: Nanoseconds
    private let modes: [Int]
    private let items: [UInt32: Int]
    private(set) var spans: [Span] = []
    private(set) var marks: [TimelinePicture.Mark] = []
    private(set) var wakeUps: [TimelinePicture.WakeUp] = []
    /// The indices in `spans` of the spans that have not ended, the innermost last.
    private var open: [Int] = []
    /// True if a host drives the thread while no run of our loop is on the stack.
    private var isHosted = false

    init(began: Nanoseconds, modes: [Int], items: [UInt32: Int]) {
        self.began = began
        self.modes = modes
        self.items = items
    }

    mutating func add(_ record: cgrun_record) {
        let time = max(0, record.time - began)
        let depth = Int(record.depth)
        switch cgrun_record_kind(UInt32(record.kind)) {
        case CGRUN_RECORD_ENTER:
            if depth == 1, record.extra == Int64(CGRUN_DRIVER_LOOP.rawValue) {
                // This run was not called from a host's loop, so a host's loop that ran earlier has ended. The
                // trace does not say when.
                isHosted = false
                dropHost()
            }
            close(from: depth == 1 ? 0 : depth, at: time)
            begin(.run, record, time)
        case CGRUN_RECORD_LEAVE:
            closeInner(of: depth, at: time)
            close(from: depth, at: time)
            // Control returns to the host.
            if depth == 1, isHosted { begin(.host, record, time, depth: 0) }
            if depth > 1, record.extra == Int64(CGRUN_DRIVER_HOST.rawValue) { begin(.host, record, time) }
        case CGRUN_RECORD_STAGE:
            closeInner(of: depth, at: time)
            let stage = Int(record.extra)
            if GRunLoop.Trace.Stage.all.indices.contains(stage) {
                marks.append(.init(time: time, stage: stage, depth: depth))
            }
        case CGRUN_RECORD_CALLOUT:
            closeInner(of: depth, at: time)
            begin(.callout, record, time)
        case CGRUN_RECORD_SLEEP:
            closeInner(of: depth, at: time)
            begin(.sleep, record, time)
        case CGRUN_RECORD_AWAKE: closeInner(of: depth, at: time)
        case CGRUN_RECORD_WOKEN:
            wakeUps.append(
                .init(
                    sent: max(0, record.extra - began), received: time, thread: Int32(bitPattern: record.item)))
        case CGRUN_RECORD_POLL:
            beginForeign(.sleep, record, time)
        case CGRUN_RECORD_POLLED:
            beginForeign(.host, record, time)
        default: break
        }
    }

    mutating func finish(at now: Nanoseconds) {
        close(from: 0, at: max(0, now - began))
    }

    private mutating func begin(_ kind: Span.Kind, _ record: cgrun_record, _ time: Nanoseconds, depth: Int? = nil) {
        let mode = Int(record.mode)
        open.append(spans.count)
        spans.append(
            Span(
                kind: kind, begin: time, end: time, depth: depth ?? Int(record.depth),
                mode: mode < modes.count ? modes[mode] : -1,
                item: kind == .callout ? items[record.item] ?? -1 : -1, late: kind == .callout ? record.extra : 0))
    }

    /// Begins a span of a host. The span's depth is 0, or one more than the depth of the callout in which a foreign
    /// loop runs.
    private mutating func beginForeign(_ kind: Span.Kind, _ record: cgrun_record, _ time: Nanoseconds) {
        isHosted = true
        let depth = record.depth == 0 ? 0 : Int(record.depth) + 1
        close(from: depth, at: time)
        begin(kind, record, time, depth: depth)
    }

    /// Ends the open spans of this depth and all deeper spans.
    private mutating func close(from depth: Int, at time: Nanoseconds) {
        end(at: time) { $0.depth >= depth }
    }

    /// Ends all open spans inside the run of this depth. The span of the run itself stays open.
    private mutating func closeInner(of depth: Int, at time: Nanoseconds) {
        dropHost()
        end(at: time) { $0.depth > depth || $0.depth == depth && $0.kind != .run }
    }

    /// Drops the open span of a host, which began at the end of the foreign loop's latest poll. The foreign loop has
    /// ended since then, but the trace does not say when. So the time after the poll may belong to the callout
    /// around the foreign loop.
    private mutating func dropHost() {
        guard let last = open.last, spans[last].kind == .host else { return }
        spans[last].end = spans[last].begin - 1
        open.removeLast()
    }

    private mutating func end(at time: Nanoseconds, _ isOver: (Span) -> Bool) {
        while let last = open.last, isOver(spans[last]) {
            spans[last].end = time
            open.removeLast()
        }
    }
}
