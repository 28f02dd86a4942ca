// SPDX-License-Identifier: Apache-2.0
// How a check reports a failure, and how it waits.

import GRunLoop
import Glibc
import Synchronization

/// Ends the program if the condition does not hold.
func check(_ condition: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    guard !condition else { return }
    print("clocks: line \(line): \(what())")
    exit(1)
}

func check<Value: Equatable>(_ found: Value, is expected: Value, line: UInt = #line) {
    check(found == expected, "found \(found), expected \(expected)", line: line)
}

/// Waits in real time until other threads have met the condition.
func wait(_ what: String, line: UInt = #line, until condition: () -> Bool) {
    for _ in 0..<100_000 where !condition() { usleep(200) }
    check(condition(), "\(what) did not come", line: line)
}

/// Records what arrived, and when on the loop's clock, in milliseconds since the beginning.
final class Arrivals: Sendable {
    private let lines = Mutex<[String]>([])
    private let clock: GRunLoop.LoopClock
    private let start: GRunLoop.Instant

    init(_ clock: GRunLoop.LoopClock) {
        self.clock = clock
        start = clock.now
    }

    func add(_ what: String) {
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        lines.withLock { $0.append("\(what) at \(seconds * 1000 + attoseconds / 1_000_000_000_000_000)") }
    }

    var all: [String] { lines.withLock { $0 } }
}
