// SPDX-License-Identifier: Apache-2.0
// Rounds of a storm of one kind, and what must not be left after each round.

import CGRunGIO
import CHeap
import GRunLoop
import Glibc
import TestSupport

/// Something that a storm has left, in words.
struct Finding: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

struct Storm {
    let sea: Sea
    let kind: Kind

    /// Runs the rounds. Returns the results in words.
    ///
    /// If the heap has grown, repeats the rounds, up to twice: on a busy machine, more threads of libdispatch may get
    /// their caches late, but a leak is in all rounds.
    func run(rounds: Int, on captain: isolated Sea) async throws -> String {
        // The first storm makes all that GLib makes once and keeps, and arrays get their capacity.
        try check(try await begin(kind.count, on: captain), Int.max)
        let descriptors = settled(openDescriptorCount)
        var (finished, cancelled, heap) = (0, 0, Heap([]))
        for attempt in 1...3 where attempt == 1 || !heap.isFlat {
            heap = Heap([])
            for _ in 0..<rounds {
                let counts = try await begin(kind.count, on: captain)
                try check(counts, descriptors)
                (finished, cancelled) = (finished + counts.finished, cancelled + counts.cancelled)
                heap.sizes.append(settled { Int(storms_heap_bytes()) })
            }
        }
        guard heap.isFlat else { throw Finding("the heap grows: \(heap.sizes)") }
        if cancelled == 0 || !kind.isEndless && finished == 0 {
            throw Finding("\(cancelled) operations were cancelled, and \(finished) finished: this is no storm")
        }
        return "\(kind.count) operations a round, \(cancelled) cancelled, \(finished) finished; \(heap)"
    }

    /// Starts operations, cancels most of them, and waits for all.
    private func begin(_ count: Int, on captain: isolated Sea) async throws -> Tally.Counts {
        let tally = Tally()
        let watchdog = Watchdog(.seconds(120), "\(kind.name): a storm did not end") {
            printToStandardError("\(tally.counts.pending) operations are pending\n")
        }
        defer { watchdog.disarm() }
        kind.prepare()
        var tasks: [Task<Void, Never>] = []
        for first in stride(from: 0, to: count, by: 50) {
            let group = await sea.begin(first..<min(first + 50, count), of: kind, tally)
            try kind.stir()
            cancelFromOutside(group.filter { $0.moment.isOnAnotherThread }.map(\.task))
            await sea.cancel(group.filter { $0.moment == .inside }.map(\.task))
            tasks += group.map(\.task)
        }
        try kind.finish()
        if kind.isEndless { for task in tasks { task.cancel() } }
        for task in tasks { await task.value }
        return tally.counts
    }

    /// Cancels tasks on this thread, each at a random time within 2 ms.
    private func cancelFromOutside(_ tasks: [Task<Void, Never>]) {
        let begin = g_get_monotonic_time()
        for (task, delay) in zip(tasks, tasks.map { _ in gint64.random(in: 0...2000) }.sorted()) {
            while g_get_monotonic_time() < begin + delay { usleep(50) }
            task.cancel()
        }
    }

    /// Waits until nothing of the storm is left.
    private func check(_ counts: Tally.Counts, _ descriptors: Int) throws {
        if counts.pending != 0 { throw Finding("\(counts.pending) operations are pending") }
        if let failure = counts.failures.first { throw Finding("an operation failed: \(failure)") }
        let left = untilNil {
            if Census.count != 0 { return "\(Census.count) objects of GLib's are left" }
            let open = openDescriptorCount()
            if open > descriptors { return "\(open) descriptors, not \(descriptors): \(openDescriptors())" }
            if hasChild() { return "a child process is left" }
            return sea.thread.loop.pendingWork.first ?? kind.leftovers()
        }
        if let left { throw Finding(left) }
    }
}
