// SPDX-License-Identifier: Apache-2.0
// Scenario autorelease-order: one observer is called before all others, and one after all others.

import GRunLoop

/// AppKit manages autorelease pools with two observers. An observer of the lowest order pushes a pool at entry. An
/// observer of the highest order pops the pool before the loop sleeps and at exit (item 267). All other observers are
/// called in between. They are sorted by their order, and not by the time when they were added (items 145 and 269).
/// Nested runs push and pop their own pools. A pass that has handled a version-0 source does not wait, so it pops no
/// pool. In this case the pool's objects live until the next beforeWaiting or exit (item 268).
enum AutoreleaseOrder {
    static let scenario = Scenario(
        "autorelease-order", "Observers of the lowest and the highest order bracket everything else.",
        expected: """
            entry           | order -2147483647 | pushes a pool, 1 deep
            entry           | order 0           |
            source          |                   | autoreleases 1 object
            timer           |                   | autoreleases 1 object, runs nested
            > entry         | order -2147483647 | pushes a pool, 2 deep
            > entry         | order 0           |
            > source        |                   | autoreleases 1 object, stops
            > exit          | order 0           |
            > exit          | order 1999000     |
            > exit          | order 2000000     |
            > exit          | order 2147483647  | pops a pool with 1 object, 1 deep
            beforeWaiting   | order 0           |
            beforeWaiting   | order 1999000     |
            beforeWaiting   | order 2000000     |
            beforeWaiting   | order 2147483647  | pops a pool with 2 objects, pushes one, 1 deep
            exit            | order 0           |
            exit            | order 1999000     |
            exit            | order 2000000     |
            exit            | order 2147483647  | pops a pool with 0 objects, 0 deep
            """, body: run)

    private static let outer: GRunLoop.Mode = "autorelease-order.outer"
    private static let inner: GRunLoop.Mode = "autorelease-order.inner"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let pools = Pools(log)
        // The observer that is called last is added first.
        let observers = [
            GRunLoop.Observer(activities: [.beforeWaiting, .exit], order: 2_147_483_647) { _, activity in
                pools.drain(at: activity)
                if activity == .beforeWaiting { loop.stop() }
            },
            plain([.beforeWaiting, .exit], 2_000_000, log),
            plain([.beforeWaiting, .exit], 1_999_000, log),
            plain([.entry, .beforeWaiting, .exit], 0, log),
            GRunLoop.Observer(activities: .entry, order: -2_147_483_647) { _, _ in pools.push() },
        ]
        for observer in observers {
            loop.add(observer, forMode: outer)
            loop.add(observer, forMode: inner)
        }
        defer { for observer in observers { observer.invalidate() } }

        let source = addSource(to: loop, inner, log) {
            pools.autorelease()
            log.line("source", "", "autoreleases 1 object, stops")
            loop.stop()
        }
        let first = addSource(to: loop, outer, log) {
            pools.autorelease()
            log.line("source", "", "autoreleases 1 object")
        }
        defer { for source in [source, first] { source.invalidate() } }
        let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in
            pools.autorelease()
            log.line("timer", "", "autoreleases 1 object, runs nested")
            log.indented { _ = loop.run(mode: inner, for: .patience) }
        }
        loop.add(timer, forMode: outer)
        loop.run(mode: outer, for: .patience)
    }

    private static func plain(_ activities: GRunLoop.Activity, _ order: Int, _ log: Recorder) -> GRunLoop.Observer {
        GRunLoop.Observer(activities: activities, order: order) { _, activity in
            log.line("\(activity)", "order \(order)")
        }
    }

    private static func addSource(
        to loop: GRunLoop, _ mode: GRunLoop.Mode, _ log: Recorder, _ perform: @escaping @Sendable () -> Void
    ) -> GRunLoop.Source {
        let source = GRunLoop.Source(perform: perform)
        loop.add(source, forMode: mode)
        source.signal()
        return source
    }
}

/// A stack of pools. Each number is the count of objects in a pool.
private final class Pools: Sendable {
    private let stack = Shared<[Int]>([])
    private let log: Recorder

    init(_ log: Recorder) {
        self.log = log
    }

    func autorelease() {
        stack.update { pools in
            guard let last = pools.indices.last else { return }
            pools[last] += 1
        }
    }

    func push() {
        stack.update { $0.append(0) }
        log.line("entry", "order -2147483647", "pushes a pool, \(stack.value.count) deep")
    }

    func drain(at activity: GRunLoop.Activity) {
        let count = stack.update { $0.popLast() ?? -1 }
        let isExit = activity == .exit
        if !isExit { stack.update { $0.append(0) } }
        let objects = count == 1 ? "1 object" : "\(count) objects"
        let pushes = isExit ? "" : "pushes one, "
        log.line("\(activity)", "order 2147483647", "pops a pool with \(objects), \(pushes)\(stack.value.count) deep")
    }
}
