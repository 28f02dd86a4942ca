// SPDX-License-Identifier: Apache-2.0
// Scenario ports: threads send messages to each other's loops, and a port keeps a loop alive.

import Dispatch
import GRunLoop

/// Articles about run loops show the following patterns with `NSMachPort`. A worker sends a message that contains the
/// worker's own port, and the main thread replies to that port (item 246). Neither thread knows the other's loop. Until
/// a port is invalidated, it keeps a thread's loop running, even if no message arrives (item 244). In the last pattern,
/// two threads send messages back and forth. Each pass delivers one message, and the messages arrive in the order in
/// which they were sent (item 238). Each message wakes a sleeping loop.
enum Ports {
    static let scenario = Scenario(
        "ports", "Ports: two threads exchange ports, a port keeps a thread alive, and two threads play ball.",
        expected: """
            main    | waits for a worker
            worker  | checks in with a port of its own
            main    | message 100 from a worker called indexer, answers
            worker  | message 101: start with 3 files, on its own thread
            main    | the worker's port is invalid: it has gone
            keeper  | run() with nothing to wait for returned at once
            keeper  | adds a port to which nobody sends, runs
            main    | hands over work
            keeper  | works, and sleeps again
            main    | hands over the last work
            keeper  | invalidates the port
            keeper  | run() returned
            ball    | over the net 1000 times, each throw in its order
            ball    | caught on the thread of its player each time
            """, body: run)

    private static func run(_ log: Recorder) throws {
        handshake(log)
        try keepAlive(log)
        playBall(log)
    }

    // MARK: The handshake

    /// The ids of the messages. `checkIn` is Apple's `kCheckinMessage`, whose reply port is the worker's own port.
    private static let (checkIn, welcome): (UInt32, UInt32) = (100, 101)

    private static func handshake(_ log: Recorder) {
        let main = GRunLoop.main
        let mode: GRunLoop.Mode = "ports.handshake"
        let workers = Shared<[GRunLoop.Port]>([])
        let own = GRunLoop.Port { message in
            guard message.id == checkIn, let worker = message.replyPort else { return }
            let name = message.components.first?.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nobody"
            workers.value.append(worker)
            worker.onInvalidation { main.stop() }
            log.line("main", "message \(message.id) from a worker called \(name), answers")
            _ = worker.trySend(GRunLoop.PortMessage(id: welcome, [.bytes([3])]))
        }
        main.add(own, forMode: mode)
        defer { own.invalidate() }
        log.line("main", "waits for a worker")
        let thread = WorkerThread { work(with: own, log) }
        main.run(mode: mode, for: .patience)
        thread.join()
        let validity = workers.value.map { $0.isValid ? "valid" : "invalid" }.joined(separator: ", ")
        log.line("main", "the worker's port is \(validity): it has gone")
    }

    private static func work(with main: GRunLoop.Port, _ log: Recorder) {
        let loop = GRunLoop.current
        let port = GRunLoop.Port { message in
            let count = message.components.first?.bytes?.first ?? 0
            let place = GRunLoop.current === loop ? "on its own thread" : "elsewhere"
            log.line("worker", "message \(message.id): start with \(count) files, \(place)")
        }
        loop.add(port, forMode: .default)
        log.line("worker", "checks in with a port of its own")
        _ = main.trySend(GRunLoop.PortMessage(id: checkIn, [.bytes(Array("indexer".utf8))], replyPort: port))
        loop.run(for: .patience, returningAfterSourceHandled: true)
        port.invalidate()
    }

    // MARK: The thread that is kept alive

    private static func keepAlive(_ log: Recorder) throws {
        let port = GRunLoop.Port()
        let sleeps = DispatchSemaphore(value: 0)
        let thread = LoopThread { loop in
            loop.run()
            log.line("keeper", "run() with nothing to wait for returned at once")
            loop.add(port, forMode: .default)
            loop.add(GRunLoop.Observer(activities: .beforeWaiting) { _, _ in sleeps.signal() }, forMode: .default)
            log.line("keeper", "adds a port to which nobody sends, runs")
            loop.run()
            log.line("keeper", "run() returned")
        }
        sleeps.wait()
        log.line("main", "hands over work")
        try thread.loop.performOnThread { log.line("keeper", "works, and sleeps again") }
        sleeps.wait()
        log.line("main", "hands over the last work")
        try thread.loop.performOnThread {
            log.line("keeper", "invalidates the port")
            port.invalidate()
        }
        thread.join()
    }

    // MARK: Ball

    private static let throwCount: UInt32 = 1000

    /// The main loop and a thread's loop are the players. Each player receives on its own port, and sends to the
    /// message's reply port, which belongs to the other player.
    private static func playBall(_ log: Recorder) {
        let (isInOrder, isAtHome) = (Shared(true), Shared(true))
        let court: GRunLoop.Mode = "ports.court"

        /// Each player receives every second message.
        @Sendable func player(of loop: GRunLoop, from first: UInt32) -> GRunLoop.Port {
            let next = Shared(first)
            return GRunLoop.Port(capacity: 1) { message in
                if message.id != next.value { isInOrder.value = false }
                if GRunLoop.current !== loop { isAtHome.value = false }
                next.value += 2
                // Each player receives one of the last two messages, and then stops its loop.
                if message.id + 1 >= throwCount { loop.stop() }
                guard message.id < throwCount, let other = message.replyPort else { return }
                _ = other.trySend(GRunLoop.PortMessage(id: message.id + 1, replyPort: message.receivePort))
            }
        }
        let main = GRunLoop.main
        let own = player(of: main, from: 2)
        main.add(own, forMode: court)
        let thread = WorkerThread {
            let loop = GRunLoop.current
            let port = player(of: loop, from: 1)
            loop.add(port, forMode: court)
            _ = port.trySend(GRunLoop.PortMessage(id: 1, replyPort: own))
            loop.run(mode: court, for: .patience)
            port.invalidate()
        }
        main.run(mode: court, for: .patience)
        thread.join()
        own.invalidate()
        let order = isInOrder.value ? "in its order" : "anywhere"
        log.line("ball", "over the net \(throwCount) times, each throw \(order)")
        log.line("ball", "caught on the thread of \(isAtHome.value ? "its player each time" : "somebody else")")
    }
}
