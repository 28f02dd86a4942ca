// SPDX-License-Identifier: Apache-2.0
// Scenario event-relay: one thread waits for a device, and another thread handles the events.

import GRunLoop

/// Applications on macOS receive system events in the following way (item 279), and so does the delegate of a loader
/// (item 278). On one thread, a descriptor source's closure reads the data and stores it in shared memory. The closure
/// then signals a version-0 source of another thread's loop, and wakes that loop. The version-0 source calls user code
/// on that other thread. Several events may become one signal (item 88). No event is lost, because the source takes all
/// stored events in their order.
enum EventRelay {
    static let scenario = Scenario(
        "event-relay", "A descriptor source on one thread passes events to a version-0 source on another.",
        expected: """
            device  | sends A
            relay   | reads A, signals and wakes the main loop | on its own thread
            main    | handles A                                | on the main thread
            device  | sends B
            relay   | reads B, signals and wakes the main loop | on its own thread
            main    | handles B                                | on the main thread
            device  | sends CDEFGHIJKLMNOPQRSTUVWXYZ in a burst
            main    | has handled CDEFGHIJKLMNOPQRSTUVWXYZ
            relay   | has ended
            """, body: run)

    private static let mode: GRunLoop.Mode = "event-relay"

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let device = try Pipe()
        let inbox = Inbox()
        let source = GRunLoop.Source {
            let events = inbox.takeArrived()
            if !inbox.isBurst.value { log.line("main", "handles \(events)", place) }
        }
        loop.add(source, forMode: mode)
        defer { source.invalidate() }
        let relay = startRelay(device, inbox, source, of: loop, log)

        for event in ["A", "B"] {
            log.line("device", "sends \(event)")
            device.write(event)
            wait(for: 1, inbox, loop)
        }
        inbox.isBurst.value = true
        let burst = "CDEFGHIJKLMNOPQRSTUVWXYZ"
        log.line("device", "sends \(burst) in a burst")
        for event in burst { device.write(String(event)) }
        let events = wait(for: burst.count, inbox, loop)
        log.line("main", "has handled \(events)")
        log.note("the burst took \(inbox.performs.value - 2) of the source's performs")

        relay.loop.stop()
        relay.join()
        log.line("relay", "has ended")
    }

    private static func startRelay(
        _ device: Pipe, _ inbox: Inbox, _ source: GRunLoop.Source, of loop: GRunLoop, _ log: Recorder
    ) -> LoopThread {
        LoopThread { relay in
            let reader = GRunLoop.DescriptorSource(descriptor: device.readEnd) { _, _ in
                let events = device.read()
                if !inbox.isBurst.value { log.line("relay", "reads \(events), signals and wakes the main loop", place) }
                // The order matters: first store the events, then signal, then wake the loop.
                inbox.arrived.update { $0 += events }
                source.signal()
                loop.wakeUp()
            }
            do {
                try relay.add(reader, forMode: .default)
                relay.run()
            } catch {
                log.line("relay", "cannot watch the device: \(error)")
            }
        }
    }

    /// Runs the main loop until `count` events were handled, and returns the events. Each run returns after the
    /// version-0 source was performed.
    @discardableResult private static func wait(for count: Int, _ inbox: Inbox, _ loop: GRunLoop) -> String {
        inbox.handled.value = ""
        let limit = GRunLoop.now.advanced(by: .patience)
        while inbox.handled.value.count < count, GRunLoop.now < limit { loop.run(mode: mode, before: limit) }
        return inbox.handled.value
    }

    private static var place: String { isMainThread ? "on the main thread" : "on its own thread" }
}

private final class Inbox: Sendable {
    let arrived = Shared("")
    let handled = Shared("")
    let performs = Shared(0)
    let isBurst = Shared(false)

    /// Takes all events that have arrived. Call this function on the main thread.
    func takeArrived() -> String {
        let events = arrived.update { events in
            defer { events = "" }
            return events
        }
        handled.update { $0 += events }
        performs.increment()
        return events
    }
}
