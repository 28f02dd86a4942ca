// SPDX-License-Identifier: Apache-2.0
// What the measuring scripts run: a loop that idles, and a loop that passes.

import GRunLoop
import Glibc

@main
enum Probe {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "idle": idle()
        case "passes": passes(arguments.dropFirst().first.flatMap { Int($0) } ?? 1000)
        default:
            print("usage: grun-probe idle | passes N")
            exit(2)
        }
    }

    /// 100,000 timers an hour away and 1,000 descriptors on which nothing happens; ends itself after a minute at most.
    private static func idle() {
        let loop = GRunLoop.current
        var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        for index in 0..<100_000 {
            let timer = GRunLoop.Timer(interval: .seconds(3600) + .milliseconds(index), repeats: true) { _ in }
            loop.add(timer, forMode: .common)
        }
        for _ in 0..<1000 {
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            let source = GRunLoop.DescriptorSource(descriptor: ends[0]) { _, _ in }
            do {
                try loop.add(source, forMode: .common)
            } catch {
                print("grun-probe: \(error)")
                exit(1)
            }
        }
        print("ready")
        fflush(nil)
        loop.run(mode: .default, for: .seconds(60))
    }

    /// Passes that poll, in a mode that holds one timer far away.
    private static func passes(_ count: Int) {
        let loop = GRunLoop.current
        let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        for _ in 0..<count { loop.run(mode: .default, for: .zero) }
        print("passes = \(count)")
    }
}
