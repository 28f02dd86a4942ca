// SPDX-License-Identifier: Apache-2.0
// Scenario loop-description: a loop's description shows its whole state.

import GRunLoop

/// The description of a loop shows the loop's flags, its current mode, and its common modes with their items. The
/// description also shows every mode with its items and next deadlines (item 200), and for each item its kind and state
/// (item 201). In this scenario, an observer prints the description of a loop that has one item of each kind.
/// Addresses, descriptor numbers and times differ from run to run, so they are printed as `N`.
enum LoopDescription {
    static let scenario = Scenario(
        "loop-description", "The description of a loop: its modes, and every item in them.",
        expected: """
            <GRunLoop 0xN>{
            wake-up pending = No, stopped = No, ignoreWakeUps = No,
            current mode = kCFRunLoopDefaultMode,
            common modes = [kCFRunLoopDefaultMode],
            common mode items = [
            > <GRunLoop.Timer 0xN>{valid = Yes, firing = No, interval = 60.0 seconds,
            > > > tolerance = 1.0 seconds, next fire date = N s from now (@ N), callout = closure},
            ],
            <mode GRunLoopTrackingMode>{
            > common = No, main queue = No, epoll = -1, blocks = 1, contexts = [],
            > sources0 = (none),
            > sources1 = (none),
            > observers = (none),
            > idle queues = (none),
            > timers = (none),
            > soft deadline in: never / hard deadline in: never
            }
            <mode kCFRunLoopDefaultMode>{
            > common = Yes, main queue = No, epoll = N, blocks = 0, contexts = [0xN],
            > sources0 = [
            > > <GRunLoop.Source 0xN>{signalled = Yes, valid = Yes, order = 3, context = {version = 0,
            > > > > perform = closure, schedule = none, cancel = none}},
            > ],
            > sources1 = [
            > > <GRunLoop.DescriptorSource 0xN>{valid = Yes, context = {version = 1, descriptor = N,
            > > > > conditions = readable, perform = closure}},
            > ],
            > observers = [
            > > <GRunLoop.Observer 0xN>{valid = Yes, activities = 0x2, repeats = No, order = 0,
            > > > > callout = closure},
            > ],
            > idle queues = (none),
            > timers = [
            > > <GRunLoop.Timer 0xN>{valid = Yes, firing = No, interval = 60.0 seconds,
            > > > > tolerance = 1.0 seconds, next fire date = N s from now (@ N), callout = closure},
            > ],
            > soft deadline in: N s (@ N) / hard deadline in: N s (@ N)
            }
            }
            """,
        body: { log in
            let outcome = Shared(Result<Void, ScenarioError>.success(()))
            LoopThread { loop in
                do {
                    try run(loop, log)
                } catch {
                    outcome.value = .failure(ScenarioError("\(error)"))
                }
            }.join()
            try outcome.value.get()
        })

    /// Runs on a separate thread, whose loop is new.
    private static func run(_ loop: GRunLoop, _ log: Recorder) throws {
        let source = GRunLoop.Source(order: 3) {}
        loop.add(source, forMode: .default)
        let pipe = try Pipe()
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in _ = pipe.read() }
        try loop.add(descriptor, forMode: .default)
        defer { descriptor.invalidate() }
        loop.add(
            GRunLoop.Timer(interval: .seconds(60), repeats: true, tolerance: .seconds(1)) { _ in }, forMode: .common)
        loop.perform(inModes: [.tracking]) {}
        let observer = GRunLoop.Observer(activities: .beforeTimers, repeats: false) { _, _ in
            for line in loop.description.split(separator: "\n") { write(line, log) }
        }
        loop.add(observer, forMode: .default)
        source.signal()
        loop.run(for: .zero)
    }

    /// Folds a long line at its commas.
    private static func write(_ line: Substring, _ log: Recorder) {
        let depth = line.prefix { $0 == " " }.count / 4
        var folded: [String] = []
        for part in withoutNumbers(line).trimmed.split(separator: ", ") {
            guard let last = folded.last else {
                folded.append(String(part))
                continue
            }
            if last.count + part.count < 90 {
                folded[folded.count - 1] = last + ", " + part
            } else {
                folded[folded.count - 1] = last + ","
                folded.append(String(part))
            }
        }
        for (index, text) in folded.enumerated() { log.line(depth: index == 0 ? depth : depth + 2, text) }
    }

    private static func withoutNumbers(_ line: Substring) -> String {
        String(line)
            // While a timeline is recorded, the description also has the cost of each item. Remove the costs, because
            // they differ from run to run.
            .replacing(/calls = .+?, (total = .+? s, longest = .+? s, lateness = .+? s, )?/, with: "")
            .replacing(/0x[0-9a-f]{6,}/, with: "0xN")
            .replacing(/-?[0-9]+\.[0-9]{9} s/, with: "N s")
            .replacing(/@ [0-9]+/, with: "@ N")
            .replacing(/(epoll|descriptor) = [0-9]+/) { "\($0.output.1) = N" }
    }
}
