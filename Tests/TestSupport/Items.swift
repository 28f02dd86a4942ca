// SPDX-License-Identifier: Apache-2.0
// Short constructors of items, so that a test shows its purpose.

import GRunLoop

extension GRunLoop {
    /// Adds a source to a mode, which keeps the mode from being finished.
    @discardableResult public func keepAlive(_ mode: Mode = .default) -> Source {
        let source = Source {}
        add(source, forMode: mode)
        return source
    }

    /// A timer that is due after `delay`, in the mode.
    @discardableResult public func after(
        _ delay: Duration, _ mode: Mode = .default, _ body: @escaping @Sendable () -> Void
    ) -> Timer {
        let timer = Timer(interval: delay, repeats: false) { _ in body() }
        add(timer, forMode: mode)
        return timer
    }

    /// A version-0 source in the mode that performs `body`.
    @discardableResult public func source(
        _ mode: Mode = .default, order: Int = 0, _ body: @escaping @Sendable () -> Void
    ) -> Source {
        let source = Source(order: order, perform: body)
        add(source, forMode: mode)
        return source
    }

    /// Calls `body` at the given stages.
    @discardableResult public func on(
        _ activities: Activity, _ mode: Mode = .default, order: Int = 0, repeats: Bool = true,
        _ body: @escaping @Sendable (Observer) -> Void
    ) -> Observer {
        let observer = Observer(activities: activities, repeats: repeats, order: order) { observer, _ in body(observer)
        }
        add(observer, forMode: mode)
        return observer
    }
}

/// Counts calls.
public final class Counter: Sendable {
    private let shared = Shared(0)

    public init() {}

    public var value: Int { shared.value }

    /// Adds one, and returns the sum.
    @discardableResult public func increment() -> Int {
        shared.update {
            $0 += 1
            return $0
        }
    }

    /// Waits for this number of calls. Returns false after a timeout.
    public func wait(for count: Int, timeout: Duration = Patience.normal) -> Bool {
        shared.wait(timeout: timeout) { $0 >= count }
    }
}

/// Calls a closure when it is deinitialized.
public final class Witness: Sendable {
    private let gone: @Sendable () -> Void

    public init(_ gone: @escaping @Sendable () -> Void) { self.gone = gone }

    deinit { gone() }
}

/// Refers to an object without retaining it.
public final class Weak<Object: AnyObject>: @unchecked Sendable {
    private let lock = Shared(())
    private weak var stored: Object?

    public init(_ object: Object? = nil) { stored = object }

    public var object: Object? {
        get { lock.update { _ in stored } }
        set { lock.update { _ in stored = newValue } }
    }
}

/// Uses the processor for this time.
public func work(for span: Duration) {
    let end = GRunLoop.now.advanced(by: span)
    while GRunLoop.now < end {}
}
