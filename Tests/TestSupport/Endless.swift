// SPDX-License-Identifier: Apache-2.0
// Endless work: an item of each kind that becomes ready again after each call.

import Dispatch
import GRunLoop

/// A kind of work. An item of it is always ready, until its `call` returns false.
public struct Endless: Sendable {
    public typealias Call = @Sendable () -> Bool

    public let name: String
    private let start: @Sendable (GRunLoop, GRunLoop.Mode, Int, @escaping Call) throws -> () -> Void

    /// Starts an item. Returns a closure that removes the item early. A one-time item is called once more then.
    ///
    /// - Parameter order: the order of a source.
    @discardableResult public func begin(
        in loop: GRunLoop = .main, _ mode: GRunLoop.Mode = .default, order: Int = 0, _ call: @escaping Call
    ) throws -> () -> Void {
        try start(loop, mode, order, call)
    }

    public static let source = signalling { $0.wakeUp() }
    public static let block = posting("block") { $0.async($1) }
    public static let perform = posting("perform") { try? $0.performOnThread($1) }
    public static let mainQueue = posting("main queue") { DispatchQueue.main.async(execute: $1) }
    /// Not a single task that yields, because a yield passes through a thread of Swift's runtime.
    public static let job = posting("job") { loop, next in Task(executorPreference: loop.executor) { next() } }
    public static let moved = posting("new timer") { loop, next in loop.after(.nanoseconds(1)) { next() } }

    /// These do not wake the loop.
    public static let quietSource = signalling { _ in }
    public static let quietBlock = posting("block") { $0.perform($1) }

    public static let timer = Endless(name: "timer") { loop, mode, _, call in
        let timer = GRunLoop.Timer(interval: .nanoseconds(1), repeats: true) { if !call() { $0.invalidate() } }
        loop.add(timer, forMode: mode)
        return { timer.invalidate() }
    }

    /// An eventfd that nobody reads.
    public static let descriptor = Endless(name: "descriptor") { loop, mode, _, call in
        let ready = EventDescriptor()
        ready.makeReady()
        let source = GRunLoop.DescriptorSource(descriptor: ready.descriptor) { source, _ in
            if !call() { source.invalidate() }
            withExtendedLifetime(ready) {}
        }
        try loop.add(source, forMode: mode)
        return { source.invalidate() }
    }

    /// A port whose handler sends to it again.
    public static let port = Endless(name: "port") { loop, mode, _, call in
        let port = GRunLoop.Port { message in
            guard let port = message.receivePort else { return }
            if call() { _ = port.trySend(message) } else { port.invalidate() }
        }
        loop.add(port, forMode: mode)
        _ = port.trySend(GRunLoop.PortMessage())
        return { port.invalidate() }
    }

    /// A further context of the mode, with an idle source.
    public static let context = Endless(name: "context") { loop, mode, _, call in
        let context = TestContext()
        let idle = GLibSource.idle(context.pointer, call)
        loop.add(GRunLoop.Context(context.pointer), forMode: mode)
        return {
            idle.destroy()
            loop.remove(GRunLoop.Context(context.pointer), forMode: mode)
        }
    }

    /// An idle source of the host.
    public static func idle(priority: Int32) -> Endless {
        Endless(name: "GLib \(priority)") { _, _, _, call in
            let idle = GLibSource.idle(nil, priority: priority, call)
            return { idle.destroy() }
        }
    }

    /// A source that signals itself.
    private static func signalling(then wake: @escaping @Sendable (GRunLoop) -> Void) -> Endless {
        Endless(name: "source") { loop, mode, order, call in
            let own = Shared<GRunLoop.Source?>(nil)
            let takeOut: @Sendable () -> Void = { own.update { $0.take() }?.invalidate() }
            own.value = loop.source(mode, order: order) {
                guard call() else { return takeOut() }
                own.value?.signal()
                wake(loop)
            }
            own.value?.signal()
            wake(loop)
            return takeOut
        }
    }

    /// Work that is called once and posts its successor.
    private static func posting(
        _ name: String, _ post: @escaping @Sendable (GRunLoop, @escaping @Sendable () -> Void) -> Void
    ) -> Endless {
        Endless(name: name) { loop, _, _, call in
            @Sendable func next() { post(loop) { if call() { next() } } }
            next()
            return {}
        }
    }
}
