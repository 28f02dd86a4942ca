// SPDX-License-Identifier: Apache-2.0
// Messages through a port: a handler that sends to itself, and a burst.

import BenchSupport
import GRunLoop

private nonisolated(unsafe) var port: GRunLoop.Port?

extension Bench {
    func portLocal() {
        let own = GRunLoop.Port { message in sendAgain(message.id) }
        loop.add(own, forMode: .default)
        port = own
        _ = own.trySend(GRunLoop.PortMessage(id: 1))
        report(measure(drive))
    }

    func portBurst() {
        let own = GRunLoop.Port { message in
            count &+= Int(message.id) | 1
            countDown()
        }
        loop.add(own, forMode: .default)
        let time = measure {
            for number in 0..<n { _ = own.trySend(GRunLoop.PortMessage(id: UInt32(truncatingIfNeeded: number))) }
            drive()
        }
        report(time)
    }
}

private func sendAgain(_ id: UInt32) {
    count += 1
    guard count < bench.n else { return bench.stop() }
    _ = port?.trySend(GRunLoop.PortMessage(id: id &+ 1))
}
