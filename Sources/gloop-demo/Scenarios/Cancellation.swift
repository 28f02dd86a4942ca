// SPDX-License-Identifier: Apache-2.0
// Scenario cancellation: a task that awaits the loop ends when the task is cancelled, and leaves no item in the loop.

import GRunLoop

/// A task that awaits the loop can be cancelled even if the loop does not run. In this scenario, the loop does not run
/// during the cancellations.
enum Cancellation {
    static let scenario = Scenario(
        "cancellation", "A cancelled sleep or sequence ends immediately and leaves nothing in the loop.",
        expected: """
            waiting            | 1 delayed perform, 1 timer, 1 descriptor, 1 observer
            sleep, an hour     | threw CancellationError
            ticks, every hour  | ended after 0 elements
            readiness          | ended after 0 elements
            activities         | ended after 0 elements
            cancelled          | 0 delayed performs, 0 timers, 0 descriptors, 0 observers
            cancelled before   | threw CancellationError
            afterwards         | 0 delayed performs, 0 timers, 0 descriptors, 0 observers
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let pipe = try Pipe()
        let mode: GRunLoop.Mode = "cancellation"
        let loop = GRunLoop.main
        let tasks: [(String, Task<String, Never>)] = [
            ("sleep, an hour", Task { await outcome { try await loop.sleep(for: .seconds(3600), inModes: [mode]) } }),
            ("ticks, every hour", Task { await count(loop.ticks(every: .seconds(3600), inModes: [mode])) }),
            ("readiness", Task { await count(loop.readiness(of: pipe.readEnd, inModes: [mode])) }),
            ("activities", Task { await count(loop.activities(.exit, inModes: [mode])) }),
        ]
        let waiting = "1 delayed perform, 1 timer, 1 descriptor, 1 observer"
        guard wait(until: { contents(of: loop, mode) == waiting }) else {
            throw ScenarioError(contents(of: loop, mode))
        }
        log.line("waiting", waiting)
        for (name, task) in tasks {
            task.cancel()
            log.line(name, value(of: task))
        }
        log.line("cancelled", contents(of: loop, mode))
        let early = Task {
            await outcome {
                withUnsafeCurrentTask { $0?.cancel() }
                try await loop.sleep(for: .seconds(3600), inModes: [mode])
            }
        }
        log.line("cancelled before", value(of: early))
        log.line("afterwards", contents(of: loop, mode))
    }

    private static func outcome(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "returned"
        } catch {
            return "threw \(type(of: error))"
        }
    }

    private static func count<Sequence: AsyncSequence>(_ sequence: Sequence) async -> String {
        var count = 0
        do {
            for try await _ in sequence { count += 1 }
        } catch {
            return "threw \(error)"
        }
        return "ended after \(count) elements"
    }

    /// Waits for the task without running a loop, because none of these tasks needs the main thread.
    private static func value(of task: Task<String, Never>) -> String {
        let answer = Shared<String?>(nil)
        Task.detached { answer.value = await task.value }
        return wait { answer.value != nil } ? answer.value ?? "" : "did not end"
    }

    private static func contents(of loop: GRunLoop, _ mode: GRunLoop.Mode) -> String {
        let lines = loop.description.split(separator: "\n")
        let own = lines.drop { $0 != "<mode \(mode.rawValue)>{" }.prefix { $0 != "}" }
        func number(_ kind: String, _ name: String) -> String {
            let count = own.count { $0.contains("<\(kind)") }
            return "\(count) \(name)\(count == 1 ? "" : "s")"
        }
        return [
            number("delayed perform>", "delayed perform"), number("GRunLoop.Timer ", "timer"),
            number("GRunLoop.DescriptorSource ", "descriptor"), number("GRunLoop.Observer ", "observer"),
        ].joined(separator: ", ")
    }
}
