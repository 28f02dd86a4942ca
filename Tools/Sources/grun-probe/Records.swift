// SPDX-License-Identifier: Apache-2.0
// The cost of a timeline's record: chains of blocks that enqueue each other, alternately recorded and not.

import GRunLoop
import GRunLoopDiagnostics
import Glibc

extension Probe {
    /// Prints the median of the rounds' differences per record.
    static func records(_ rounds: Int) throws {
        let blocks = 100_000
        _ = chain(blocks)
        let timeline = GRunLoop.Timeline()
        var costs: [Int] = []
        for _ in 0..<rounds {
            let plain = chain(blocks)
            timeline.start()
            let recorded = chain(blocks)
            timeline.stop()
            costs.append(Int((recorded - plain) / .nanoseconds(1)))
        }
        let each = Double(costs.sorted()[rounds / 2]) / Double(blocks)
        let count = try recordsOfABlock()
        let cost = each / count
        print(
            "records: \(rounded(each)) ns a block, which are \(rounded(count)) records: \(rounded(cost)) ns a record")
    }

    private static func rounded(_ value: Double) -> String { String((value * 10).rounded() / 10) }

    /// Counts the records by the trace events. A run makes two records, everything else in this chain makes one.
    private static func recordsOfABlock() throws -> Double {
        let (timeline, blocks) = (GRunLoop.Timeline(), 1000)
        timeline.start()
        _ = chain(blocks)
        timeline.stop()
        let path = "/tmp/grun-probe-\(getpid()).json"
        try timeline.write(to: path, as: .chromeJSON)
        defer { unlink(path) }
        guard let file = fopen(path, "r") else { return .nan }
        defer { fclose(file) }
        var count = 0
        while let line = readLine(from: file) {
            if line.contains("\"ph\":\"X\"") || line.contains("\"ph\":\"i\"") { count += 1 }
        }
        return Double(count) / Double(blocks)
    }

    private static func readLine(from file: UnsafeMutablePointer<FILE>) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        return fgets(&buffer, Int32(buffer.count), file).map { String(cString: $0) }
    }

    /// Returns how long the blocks take.
    private static func chain(_ count: Int) -> Duration {
        let loop = GRunLoop.main
        nonisolated(unsafe) var left = count
        @Sendable func step() {
            left -= 1
            if left > 0 {
                loop.perform { step() }
            } else {
                loop.stop()
            }
        }
        let source = GRunLoop.Source {}
        loop.add(source, forMode: .default)
        defer { loop.remove(source, forMode: .default) }
        loop.perform { step() }
        let begin = GRunLoop.now
        while left > 0 {
            loop.wakeUp()
            loop.run(for: .zero)
        }
        return begin.duration(to: GRunLoop.now)
    }
}
