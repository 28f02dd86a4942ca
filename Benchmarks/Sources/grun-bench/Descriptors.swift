// SPDX-License-Identifier: Apache-2.0
// Descriptors: one event beside many idle ones; 100 pipes in a ring; memory.

import BenchSupport
import GRunLoop

extension Bench {
    private func watch(
        _ descriptor: Int32,
        _ handler: @escaping @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    ) {
        let source = GRunLoop.DescriptorSource(descriptor: descriptor, handler: handler)
        do { try loop.add(source, forMode: .default) } catch { fatalError("\(error)") }
    }

    private func pipe() -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        bench_pipe(&ends)
        return (ends[0], ends[1])
    }

    func descriptorsIdleTax() {
        for _ in 0..<n { watch(bench_event()) { _, _ in } }
        let pipe = pipe()
        watch(pipe.reader) { _, _ in
            _ = bench_get(pipe.reader)
            if bench_step() { bench_put(pipe.writer) } else { stop() }
        }
        bench_put(pipe.writer)
        bench_begin_steps()
        drive()
        report(bench_step_time(), "events:\(bench_steps())")
    }

    func descriptorsActive(tokens: Int) {
        let pipes = (0..<100).map { _ in pipe() }
        for (index, own) in pipes.enumerated() {
            let next = pipes[(index + 1) % pipes.count].writer
            watch(own.reader) { _, _ in
                _ = bench_get(own.reader)
                count += 1
                if count >= n { return stop() }
                bench_put(next)
            }
        }
        for token in 0..<tokens { bench_put(pipes[token].writer) }
        report(measure(drive), "tokens:\(tokens)")
    }

    /// Two loops, each with a pipe that the other writes to.
    func descriptorsPingPong() {
        let (here, there) = (pipe(), pipe())
        watch(here.reader) { _, _ in
            _ = bench_get(here.reader)
            count += 1
            if count >= n { stop() }
            bench_put(there.writer)
        }
        onOtherThread { bench in
            let loop = GRunLoop.current
            let source = GRunLoop.DescriptorSource(descriptor: there.reader) { _, _ in
                _ = bench_get(there.reader)
                if count >= bench.n { loop.stop() } else { bench_put(here.writer) }
            }
            do { try loop.add(source, forMode: .default) } catch { fatalError("\(error)") }
            loop.run()
        }
        bench_put(here.writer)
        report(measure(drive))
        bench_join()
    }

    func descriptorsMemory() {
        let descriptors = (0..<n).map { _ in bench_event() }
        let (heap, resident) = (bench_heap(), bench_resident())
        // The closure captures nothing, because the peers' callbacks get no data of their own.
        let adding = measure { for descriptor in descriptors { watch(descriptor) { _, _ in } } }
        let bytes = Double(bench_heap() - heap) / Double(n)
        let inResident = Double(bench_resident() - resident) / Double(n)
        report(bytes, "bytes_heap:\(shown(bytes)),bytes_rss:\(shown(inResident)),add_ns:\(shown(adding))")
    }
}
