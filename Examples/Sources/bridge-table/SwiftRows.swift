// SPDX-License-Identifier: Apache-2.0
// Rows: libdispatch, Swift's tasks, and Foundation.

import Bridges
import Dispatch
import Foundation
import FoundationNetworking
import Measuring

private let repetitions = 20

extension Rows {
    static func mainQueue(_ bridge: Bridge) -> String {
        count { done in DispatchQueue.main.async { done() } }
    }

    static func mainActor(_ bridge: Bridge) -> String {
        count { done in Task { await MainActor.run { done() } } }
    }

    /// The main queue while a timer of Foundation's fires 50 times a second.
    static func mainQueueBesideTimer(_ bridge: Bridge) -> String {
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { _ in }
        defer { timer.invalidate() }
        return mainQueue(bridge)
    }

    static func perform(_ bridge: Bridge) -> String {
        count { done in RunLoop.main.perform { done() } }
    }

    /// Another thread asks 20 times for a closure on the main thread.
    private static func count(ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> String {
        let loop = MainLoop()
        let count = Count()
        Thread.detachNewThread {
            for _ in 0..<repetitions {
                ask { if count.increment() == repetitions { loop.quit() } }
                usleep(1000)
            }
        }
        loop.run(atMost: 2)
        // On a busy machine, the rest needs longer.
        if (1..<repetitions).contains(count.value) { loop.run(atMost: 10) }
        return counted(count.value, of: repetitions)
    }

    static func sleep(_ bridge: Bridge) -> String {
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
        guard let median = lateness.microseconds(0.5) else { return "never resumes" }
        return "resumes \(text(microseconds: median)) late"
    }

    static func timers(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let count = Count()
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { _ in count.increment() }
        loop.run(atMost: 1)
        timer.invalidate()
        return count.value == 0 ? "never fires" : "\(count.value) times"
    }

    static func process(_ bridge: Bridge) -> String {
        let loop = MainLoop()
        let (ticks, meanwhile) = (Count(), Number())
        onTimeout(every: 10) { ticks.increment() }
        onIdle {
            let before = ticks.value
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["0.5"]
            try? process.run()
            process.waitUntilExit()
            meanwhile.set(ticks.value - before)
            loop.quit()
        }
        loop.run(atMost: 5)
        return meanwhile.value >= 20 ? "goes on" : "stands still"
    }

    static func session(_ bridge: Bridge) -> String {
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
        return counted(count.value, of: 1)
    }
}
