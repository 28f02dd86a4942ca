// SPDX-License-Identifier: Apache-2.0
// Scenario adapter: one GSource delivers all events of a run loop.

import GRunLoop

/// If each item had a GSource, GLib would spend time on every item in every pass. So the main run loop has one GSource,
/// the hub, in GLib's default context. The hub has at most three poll records, however many items there are.
///
/// The scenario follows three events from their trigger to the callout: a signal, a written byte and a deadline. First
/// the program runs the loop, and GLib dispatches nothing. Then a host iterates GLib's default context, as a GTK
/// program does. GLib dispatches the hub, and the hub makes passes with the same stages (items 41 and 51).
enum Adapter {
    static let scenario = Scenario(
        "adapter", "A source, a descriptor and a timer, each followed through the one GSource that carries them.",
        expected: """
            GLib's default context | has 1 GSource named GRunLoop
            100 sources, 100 descriptors and 100 timers come
            GLib's default context | has 1 GSource named GRunLoop, as many GSources as before
            GLib's default context | has at most 3 more poll records

            we run the loop
            > signal the source
            >  5 sources           | source      | performs, dispatched by no GSource
            > make the descriptor readable
            > 10 service           | descriptor  | is readable, dispatched by no GSource
            > let the timer be due
            > 10 service           | timer       | fires, dispatched by no GSource

            a host iterates GLib's context
            > signal the source
            >  5 sources           | source      | performs, dispatched by the GSource GRunLoop
            > make the descriptor readable
            > 10 service           | descriptor  | is readable, dispatched by the GSource GRunLoop
            > let the timer be due
            > 10 service           | timer       | fires, dispatched by the GSource GRunLoop
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        try carryMany(loop, log)
        let events = try Events(in: loop, log)
        defer { events.remove() }

        log.line("we run the loop")
        follow(events, of: loop, log) { loop.run(for: .patience) }
        log.line("a host iterates GLib's context")
        follow(events, of: loop, log) { Host.iterate { events.hasArrived.value } }
    }

    // MARK: One GSource for all

    private static func carryMany(_ loop: GRunLoop, _ log: Recorder) throws {
        let name = "GRunLoop"
        let context = "GLib's default context"
        Host.settle()
        let (before, records) = (Host.sources, Host.pollRecords)
        log.line(context, "has \(before.count { $0 == name }) GSource named \(name)")

        let sources = (1...100).map { _ in GRunLoop.Source {} }
        let descriptors = try (1...100).map { _ in
            let pipe = try Pipe()
            return GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in _ = pipe.read() }
        }
        let timers = (1...100).map { _ in GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in } }
        defer {
            for source in sources { source.invalidate() }
            for descriptor in descriptors { descriptor.invalidate() }
            for timer in timers { timer.invalidate() }
        }
        for source in sources { loop.add(source, forMode: .default) }
        for descriptor in descriptors { try loop.add(descriptor, forMode: .default) }
        for timer in timers { loop.add(timer, forMode: .default) }
        log.line("100 sources, 100 descriptors and 100 timers come")

        let after = Host.sources
        let change =
            after.count == before.count ? "as many GSources as before" : "\(after.count - before.count) GSources more"
        log.line(context, "has \(after.count { $0 == name }) GSource named \(name), \(change)")
        let more = Host.pollRecords - records
        log.line(context, "has \(more <= 3 ? "at most 3" : "\(more)") more poll records")
    }

    // MARK: Three events

    /// Triggers the three events one after another. The second and the third event are triggered after the previous
    /// event's callout.
    private static func follow(_ events: Events, of loop: GRunLoop, _ log: Recorder, _ drive: () -> Void) {
        log.indented {
            for (title, trigger) in events.all {
                log.line(title)
                events.hasArrived.value = false
                trigger()
                log.follow(loop, .withCallouts, drive)
            }
        }
    }

    private struct Events {
        let all: [(title: String, trigger: () -> Void)]
        let hasArrived: Shared<Bool>
        let remove: () -> Void

        init(in loop: GRunLoop, _ log: Recorder) throws {
            let hasArrived = Shared(false)
            let arrive: @Sendable (String) -> Void = { what in
                log.detail(
                    "\(what), dispatched by \(Host.dispatchedSource.map { "the GSource \($0)" } ?? "no GSource")")
                hasArrived.value = true
                // If a run of this library drives the loop, stop() ends this run. If a host drives the loop, stop() has
                // no effect here.
                loop.stop()
            }
            let source = GRunLoop.Source { arrive("performs") }
            loop.add(source, forMode: .default)
            let pipe = try Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, conditions in
                _ = pipe.read()
                arrive("is \(conditions)")
            }
            try loop.add(descriptor, forMode: .default)
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: .seconds(3600)) { _ in arrive("fires")
            }
            loop.add(timer, forMode: .default)

            self.hasArrived = hasArrived
            all = [
                ("signal the source", { source.signal() }),
                ("make the descriptor readable", { pipe.write("x") }),
                ("let the timer be due", { timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(2)) }),
            ]
            remove = {
                source.invalidate()
                descriptor.invalidate()
                timer.invalidate()
            }
        }
    }
}
