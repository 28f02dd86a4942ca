// SPDX-License-Identifier: Apache-2.0
// Rows: libdispatch, Swift's tasks, and Foundation.

import Bridges
import Measuring
import Dispatch
import Foundation
import FoundationNetworking

private let repetitions = 20

extension Rows {
    static func mainQueue(_ bridge: Bridge) -> Cell {
        count { done in DispatchQueue.main.async { done() } }
    }

    static func mainActor(_ bridge: Bridge) -> Cell {
        count { done in Task { await MainActor.run { done() } } }
    }

    static func perform(_ bridge: Bridge) -> Cell {
        count { done in RunLoop.main.perform { done() } }
    }

    /// Another thread asks 20 times for a closure on the main thread.
    private static func count(ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Cell {
        let loop = MainLoop()
        let count = Count()
        Thread.detachNewThread {
            for _ in 0..<repetitions {
                ask { if count.increment() == repetitions { loop.quit() } }
                usleep(1000)
            }
        }
        loop.run(atMost: 2)
        return Cell(count.value, of: repetitions)
    }

    static func sleep(_ bridge: Bridge) -> Cell {
        let loop = MainLoop()
        let lateness = Latencies()
        Task { @MainActor in
            for _ in 0..<repetitions {
                let due = DispatchTime.now() + .milliseconds(10)
                try await Task.sleep(for: .milliseconds(10))
                lateness.add(since: due)
            }
            loop.quit()
        }
        loop.run(atMost: 4)
        guard let median = lateness.microseconds(0.5) else { return Cell(.no, "never resumes") }
        return Cell(median < 5000 ? .yes : .partly, "resumes \(milliseconds(median)) late")
    }

    static func timers(_ bridge: Bridge) -> Cell {
        let loop = MainLoop()
        let count = Count()
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { _ in count.increment() }
        loop.run(atMost: 1)
        timer.invalidate()
        return Cell(count.value >= 45 ? .yes : count.value == 0 ? .no : .partly, "\(count.value) fire")
    }

    static func process(_ bridge: Bridge) -> Cell {
        let loop = MainLoop()
        let ticks = Count()
        onTimeout(every: 10) { ticks.increment() }
        onIdle {
            let before = ticks.value
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["0.5"]
            try? process.run()
            process.waitUntilExit()
            counted.set(ticks.value - before)
            loop.quit()
        }
        loop.run(atMost: 5)
        return Cell(counted.value >= 20 ? .yes : .no, counted.value >= 20 ? "goes on" : "stands still")
    }

    static func session(_ bridge: Bridge) -> Cell {
        let loop = MainLoop()
        let count = Count()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: .main)
        session.dataTask(with: OnePage.serve()) { data, _, _ in
            if data?.count == OnePage.length { count.increment() }
            loop.quit()
        }.resume()
        loop.run(atMost: 3)
        return Cell(count.value, of: 1)
    }
}

private let counted = Number()
