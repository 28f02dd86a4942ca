// SPDX-License-Identifier: Apache-2.0
// Scenario notification-queue: notifications are posted now, as soon as possible, or when idle. Equal notifications are
// posted once.

import GRunLoop

/// Each change of a document enqueues a layout and a save. However many changes a pass makes, the layout is done once,
/// before the loop sleeps. The document is saved when the loop is idle. A notification that is not needed any more is
/// dequeued. While the loop runs in another mode, all notifications wait. A notification from another thread wakes the
/// loop.
enum NotificationQueue {
    private enum Name {
        case warning, layout, save, index
    }

    private final class Document: Sendable {
        let title: String
        init(_ title: String) { self.title = title }
    }

    static let scenario = Scenario(
        "notification-queue", "A notification queue posts now, soon or when idle, and merges duplicates.",
        expected: """
            default  | warning           | posted before enqueue returned
            default  | block             | ten changes
            default  | observer          | the loop is about to sleep
            default  | layout of letter  | for change 10, and for no other
            default  | layout of report  | another sender: not the same
            default  | block             | enqueued by the layout: comes before what is for idleness
            default  | save              | change 10
            default  | index             | the next pass
            default  | returned finished
            dragging | timer             | 1 waits
            dragging | returned finished
            default  | layout of letter  | it has waited for its mode
            default  | returned finished
            default  | save              | another thread's: the loop slept, and was woken
            default  | returned stopped
            """, body: run)

    private static func run(_ log: Recorder) {
        // A new thread's loop has no other items in its default mode.
        WorkerThread { follow(log) }.join()
    }

    private static func follow(_ log: Recorder) {
        let loop = GRunLoop.current
        let queue = GRunLoop.NotificationQueue<Name, String>(on: loop)
        let (letter, report) = (Document("letter"), Document("report"))
        let observations = [
            queue.observe(.warning) { log.line("default", "warning", $0.payload) },
            queue.observe(.layout) { notification in
                let title = (notification.sender as? Document)?.title ?? "nothing"
                log.line("default", "layout of \(title)", notification.payload)
                guard notification.sender === report else { return }
                loop.perform {
                    log.line("default", "block", "enqueued by the layout: comes before what is for idleness")
                }
            },
            queue.observe(.save) { log.line("default", "save", $0.payload) },
            queue.observe(.index) { log.line("default", "index", $0.payload) },
        ]
        defer { for observation in observations { observation.cancel() } }

        queue.enqueue(.init(name: .warning, payload: "posted before enqueue returned"), style: .now)
        loop.perform {
            log.line("default", "block", "ten changes")
            for number in 1...10 {
                queue.enqueue(.init(name: .save, payload: "change \(number)"), style: .whenIdle)
                let text = "for change \(number), and for no other"
                queue.enqueue(.init(name: .layout, sender: letter, payload: text), style: .asap)
            }
            queue.enqueue(.init(name: .layout, sender: report, payload: "another sender: not the same"), style: .asap)
            queue.enqueue(.init(name: .index, payload: "the next pass"), style: .whenIdle)
            queue.enqueue(.init(name: .warning, payload: "never"), style: .asap)
            queue.dequeue(matching: .init(name: .warning, payload: ""), coalescing: .onName)
        }
        let observer = GRunLoop.Observer(activities: .beforeWaiting, repeats: false) { _, _ in
            log.line("default", "observer", "the loop is about to sleep")
        }
        loop.add(observer, forMode: .default)
        // The mode has no other items. The pending notifications alone keep the run from finishing.
        queue.enqueue(.init(name: .index, payload: "never"), style: .whenIdle)
        log.line("default", "returned \(loop.run(for: .patience))")

        let dragging: GRunLoop.Mode = "notification-queue.dragging"
        queue.enqueue(.init(name: .layout, sender: letter, payload: "it has waited for its mode"), style: .asap)
        loop.add(
            GRunLoop.Timer(interval: .milliseconds(2), repeats: false) { _ in
                log.line("dragging", "timer", "\(queue.count) waits")
            }, forMode: dragging)
        log.line("dragging", "returned \(loop.run(mode: dragging, for: .patience))")
        log.line("default", "returned \(loop.run(for: .patience))")

        let kept = GRunLoop.Source {}
        loop.add(kept, forMode: .default)
        let stops = queue.observe(.save) { _ in loop.stop() }
        let thread = WorkerThread {
            guard wait(until: { loop.isWaiting }) else { return loop.stop() }
            let text = "another thread's: the loop slept, and was woken"
            queue.enqueue(.init(name: .save, payload: text), style: .asap)
        }
        log.line("default", "returned \(loop.run(for: .patience))")
        thread.join()
        stops.cancel()
    }
}
