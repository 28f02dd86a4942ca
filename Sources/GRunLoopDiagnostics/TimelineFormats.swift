// SPDX-License-Identifier: Apache-2.0
// The two formats of a timeline: the data of the HTML page, and Chrome's trace events.

import CGRun
import GRunLoop
import Glibc

extension TimelinePicture {
    /// The data that the HTML page reads (Sources/CGRunDiagnostics/timeline.html).
    var pageText: JSONText {
        var text = JSONText()
        text.raw("{\"version\":1,\"program\":")
        text.string(program)
        text.raw(",\"process\":")
        text.number(process)
        text.raw(",\"start\":")
        text.string(startText)
        text.raw(",\"duration\":")
        text.number(duration)
        text.raw(",\"droppedLoops\":")
        text.number(droppedCount)
        text.raw(",\"stages\":")
        text.list(GRunLoop.Trace.Stage.all) { $0.string($1.rawValue) }
        text.raw(",\"modes\":")
        text.list(modes) { $0.string($1) }
        text.raw(",\"items\":")
        text.list(items) { $0.item($1) }
        text.raw(",\"threads\":{")
        for (index, thread) in threads.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { text.raw(",") }
            text.string(String(thread.key))
            text.raw(":")
            text.string(thread.value)
        }
        text.raw("},\"loops\":")
        text.list(loops) { $0.loop($1, among: loops) }
        text.raw("}")
        return text
    }

    private var startText: String {
        var parts = tm()
        var seconds = start.tv_sec
        gmtime_r(&seconds, &parts)
        func digits(_ value: some BinaryInteger, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(Int(parts.tm_year) + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))T"
            + "\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))."
            + "\(digits(start.tv_nsec / 1000, 6))Z"
    }

    /// The picture as trace events, in the JSON format of Chrome's viewer and Perfetto.
    var chromeText: JSONText {
        var text = JSONText()
        text.raw("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")
        text.raw("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":")
        text.number(process)
        text.raw(",\"args\":{\"name\":")
        text.string(program)
        text.raw("}}")
        for (thread, name) in threads.sorted(by: { $0.key < $1.key }) {
            text.raw(",\n{\"ph\":\"M\",\"name\":\"thread_name\"")
            text.place(process, thread)
            text.raw(",\"args\":{\"name\":")
            text.string(name)
            text.raw("}}")
        }
        var arrow = 0
        for loop in loops {
            for span in loop.spans { text.event(span, loop, of: self) }
            for mark in loop.marks {
                text.raw(",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"stage\",\"name\":")
                text.string(GRunLoop.Trace.Stage.all[mark.stage].rawValue)
                text.raw(",\"ts\":")
                text.microseconds(mark.time)
                text.place(process, loop.thread)
                text.raw("}")
            }
            for wakeUp in loop.wakeUps {
                arrow += 1
                text.arrow(arrow, "s", wakeUp.sent, process, wakeUp.thread)
                text.arrow(arrow, "f", wakeUp.received, process, loop.thread)
            }
        }
        text.raw("\n]}\n")
        return text
    }

    fileprivate func name(of span: Span) -> String {
        switch span.kind {
        case .run: return span.mode >= 0 ? "run in \(modes[span.mode])" : "run"
        case .sleep: return "sleep"
        case .host: return "host"
        case .callout:
            guard span.item >= 0 else { return "callout" }
            let item = items[span.item]
            return item.label ?? item.calls ?? item.kind
        }
    }
}

extension JSONText {
    fileprivate mutating func item(_ item: TimelinePicture.Item) {
        raw("{\"kind\":")
        string(item.kind)
        raw(",\"label\":")
        string(item.label)
        raw(",\"calls\":")
        string(item.calls)
        raw(",\"detail\":")
        string(item.detail)
        raw("}")
    }

    fileprivate mutating func loop(
        _ loop: TimelinePicture.Loop, among loops: [TimelinePicture.Loop]
    ) {
        raw("{\"name\":")
        string(loop.name)
        raw(",\"thread\":")
        number(loop.thread)
        raw(loop.isHosted ? ",\"hosted\":true" : ",\"hosted\":false")
        raw(",\"from\":")
        number(loop.from)
        raw(",\"to\":")
        number(loop.to)
        raw(",\"overwritten\":")
        number(loop.overwritten)
        raw(",\"spans\":")
        list(loop.spans) {
            $0.numbers([
                $1.begin, $1.end - $1.begin, Int64($1.kind.rawValue), Int64($1.depth), Int64($1.mode), Int64($1.item),
                $1.late,
            ])
        }
        raw(",\"marks\":")
        list(loop.marks) { $0.numbers([$1.time, Int64($1.stage), Int64($1.depth)]) }
        raw(",\"wakeUps\":")
        list(loop.wakeUps) { text, wakeUp in
            // The kernel reuses the ids of ended threads. So find the loop whose thread had this id and which was being
            // recorded when the wake-up was sent.
            let sender =
                loops.lastIndex {
                    $0.thread == wakeUp.thread && ($0.from...$0.to).contains(wakeUp.sent)
                } ?? -1
            text.numbers([wakeUp.sent, wakeUp.received, Int64(wakeUp.thread), Int64(sender)])
        }
        raw("}")
    }

    private mutating func numbers(_ values: [Int64]) {
        raw("[")
        for (index, value) in values.enumerated() {
            if index > 0 { raw(",") }
            number(value)
        }
        raw("]")
    }

    // MARK: Trace events

    fileprivate mutating func place(_ process: Int32, _ thread: Int32) {
        raw(",\"pid\":")
        number(process)
        raw(",\"tid\":")
        number(thread)
    }

    fileprivate mutating func event(
        _ span: TimelinePicture.Span, _ loop: TimelinePicture.Loop, of picture: TimelinePicture
    ) {
        raw(",\n{\"ph\":\"X\",\"cat\":")
        string("\(span.kind)")
        raw(",\"name\":")
        string(picture.name(of: span))
        raw(",\"ts\":")
        microseconds(span.begin)
        raw(",\"dur\":")
        microseconds(span.end - span.begin)
        place(picture.process, loop.thread)
        guard span.kind == .callout, span.item >= 0 else { return raw("}") }
        let item = picture.items[span.item]
        raw(",\"args\":{\"kind\":")
        string(item.kind)
        raw(",\"calls\":")
        string(item.calls)
        raw(",\"detail\":")
        string(item.detail)
        raw(",\"late\":")
        microseconds(span.late)
        raw("}}")
    }

    fileprivate mutating func arrow(
        _ number: Int, _ phase: String, _ time: Nanoseconds, _ process: Int32, _ thread: Int32
    ) {
        raw(",\n{\"ph\":")
        string(phase)
        raw(",\"cat\":\"wake-up\",\"name\":\"wake-up\",\"bp\":\"e\",\"id\":")
        self.number(number)
        raw(",\"ts\":")
        microseconds(time)
        place(process, thread)
        raw("}")
    }
}
