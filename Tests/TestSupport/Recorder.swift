// SPDX-License-Identifier: Apache-2.0
// Records events in order. Tests check the order by such a trace, and never by sleeping.

import GRunLoop
import GRunLoopDiagnostics
import Glibc

/// A list of lines that any thread can add to and wait for.
public final class Recorder: @unchecked Sendable {
    private let monitor = Monitor()
    private var recorded: [String] = []

    public init() {}

    public func callAsFunction(_ line: String) {
        monitor.change { recorded.append(line) }
    }

    public var lines: [String] { monitor.read { recorded } }

    /// Returns the lines so far, and removes them.
    public func take() -> [String] {
        monitor.change {
            defer { recorded = [] }
            return recorded
        }
    }

    public func count(of line: String) -> Int { lines.filter { $0 == line }.count }

    /// Waits for this number of lines. Returns false after a timeout.
    public func wait(forCount count: Int, timeout: Duration = Patience.normal) -> Bool {
        monitor.wait(timeout) { recorded.count >= count }
    }

    /// Waits for a line. Returns false after a timeout.
    public func wait(for line: String, timeout: Duration = Patience.normal) -> Bool {
        monitor.wait(timeout) { recorded.contains(line) }
    }

    /// Records the stages that `activities` names, as long as the returned observer is in the mode.
    @discardableResult
    public func observe(
        _ loop: GRunLoop, _ mode: GRunLoop.Mode = .default, _ activities: GRunLoop.Activity = .all, order: Int = 0,
        prefix: String = ""
    ) -> GRunLoop.Observer {
        let observer = GRunLoop.Observer(activities: activities, order: order) { [self] _, activity in
            self(prefix + activity.description)
        }
        loop.add(observer, forMode: mode)
        return observer
    }
}

/// How long a test waits for an event. The time is generous, because only a failed test uses it up. GRUN_PATIENCE sets
/// it in seconds, for tests that are meant to fail.
public enum Patience {
    public static let normal: Duration = {
        let wanted = getenv("GRUN_PATIENCE").flatMap { Int(String(cString: $0)) }
        return .seconds(wanted ?? 20)
    }()
}

/// A flag that is set once, and can be waited for.
public final class Flag: @unchecked Sendable {
    private let monitor = Monitor()
    private var value = false

    public init() {}

    public func set() { monitor.change { value = true } }
    public var isSet: Bool { monitor.read { value } }

    /// Returns false after a timeout.
    @discardableResult public func wait(timeout: Duration = Patience.normal) -> Bool {
        monitor.wait(timeout) { value }
    }
}

/// A value that several threads share.
public final class Shared<Value>: @unchecked Sendable {
    private let monitor = Monitor()
    private var stored: Value

    public init(_ value: Value) { stored = value }

    public var value: Value {
        get { monitor.read { stored } }
        set { monitor.change { stored = newValue } }
    }

    @discardableResult public func update<Result>(_ change: (inout Value) -> Result) -> Result {
        monitor.change { change(&stored) }
    }

    /// Waits until the value satisfies the condition. Returns false after a timeout.
    public func wait(timeout: Duration = Patience.normal, until wanted: (Value) -> Bool) -> Bool {
        monitor.wait(timeout) { wanted(stored) }
    }
}

/// A mutex and a condition, on the monotonic clock.
final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    func read<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    func change<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return body()
    }

    func wait(_ timeout: Duration, until condition: () -> Bool) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let (seconds, attoseconds) = timeout.components
        end.tv_sec += Int(seconds)
        end.tv_nsec += Int(attoseconds / 1_000_000_000)
        if end.tv_nsec >= 1_000_000_000 {
            end.tv_sec += 1
            end.tv_nsec -= 1_000_000_000
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !condition() {
            if pthread_cond_timedwait(changed, mutex, &end) == ETIMEDOUT { return condition() }
        }
        return true
    }
}

/// An object that only one actor may use. It calls a closure when it is deinitialized.
public final class OfAnActor {
    public let trace: Recorder

    public init(_ trace: Recorder) { self.trace = trace }

    deinit { trace("let go") }
}

/// Waits for a condition without blocking one of the few threads of Swift's pool.
public func eventually(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<30_000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return false
}
