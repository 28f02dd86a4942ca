// SPDX-License-Identifier: Apache-2.0
// An item of any kind that can be called repeatedly, and be moved from loop to loop.

import GRunLoop
import GRunLoopMessagePorts

/// An item for the default modes of loops. It may be used on any thread.
public struct Movable: Sendable {
    public enum Kind: CaseIterable, Sendable { case source, timer, descriptor, observer, idleQueue, port, messagePort }

    public let add: @Sendable (GRunLoop) -> Void
    public let remove: @Sendable (GRunLoop) -> Void
    public let isIn: @Sendable (GRunLoop) -> Bool
    public let isValid: @Sendable () -> Bool
    public let invalidate: @Sendable () -> Void
    /// Makes the item's present loop call its closure once more.
    public let rouse: @Sendable () -> Void

    public init(_ kind: Kind, _ body: @escaping @Sendable () -> Void) throws {
        switch kind {
        case .source:
            let source = GRunLoop.Source { body() }
            add = { $0.add(source, forMode: .default) }
            remove = { $0.remove(source, forMode: .default) }
            isIn = { $0.contains(source, forMode: .default) }
            isValid = { source.isValid }
            invalidate = { source.invalidate() }
            rouse = { source.signal() }
        case .timer:
            let timer = GRunLoop.Timer(fireAt: .now, interval: .milliseconds(1)) { _ in body() }
            add = { $0.add(timer, forMode: .default) }
            remove = { $0.remove(timer, forMode: .default) }
            isIn = { $0.contains(timer, forMode: .default) }
            isValid = { timer.isValid }
            invalidate = { timer.invalidate() }
            rouse = {}
        case .descriptor:
            let pipe = Pipe()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                body()
            }
            add = { try? $0.add(source, forMode: .default) }
            remove = { $0.remove(source, forMode: .default) }
            isIn = { $0.contains(source, forMode: .default) }
            isValid = { source.isValid }
            invalidate = { source.invalidate() }
            rouse = { pipe.send() }
        case .observer:
            let observer = GRunLoop.Observer(activities: .beforeSources) { _, _ in body() }
            add = { $0.add(observer, forMode: .default) }
            remove = { $0.remove(observer, forMode: .default) }
            isIn = { $0.contains(observer, forMode: .default) }
            isValid = { observer.isValid }
            invalidate = { observer.invalidate() }
            rouse = {}
        case .idleQueue:
            let queue = GRunLoop.IdleQueue()
            add = { $0.add(queue, forMode: .default) }
            remove = { $0.remove(queue, forMode: .default) }
            isIn = { $0.contains(queue, forMode: .default) }
            isValid = { queue.isValid }
            invalidate = { queue.invalidate() }
            rouse = { queue.enqueue(body) }
        case .port:
            let port = GRunLoop.Port { _ in body() }
            add = { $0.add(port, forMode: .default) }
            remove = { $0.remove(port, forMode: .default) }
            isIn = { $0.contains(port, forMode: .default) }
            isValid = { port.isValid }
            invalidate = { port.invalidate() }
            rouse = { _ = port.trySend(GRunLoop.PortMessage()) }
        case .messagePort:
            let name = RuntimeDirectory.newName("movable")
            let port = try GRunLoop.MessagePort(name) { _ in body() }
            let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
            add = { try? $0.add(port, forMode: .default) }
            remove = { $0.remove(port, forMode: .default) }
            isIn = { $0.contains(port, forMode: .default) }
            isValid = { port.isValid }
            invalidate = { port.invalidate() }
            rouse = { try? remote.send(1, sendTimeout: .seconds(1)) }
        }
    }
}
