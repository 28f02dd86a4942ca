// SPDX-License-Identifier: Apache-2.0
// Counters, latencies and main loops for the cells of the table and for the pairs of programs.

import CGRunGLib
import Dispatch
import Glibc
import Synchronization

/// A counter that any thread may change.
public final class Count: Sendable {
    private let number = Atomic(0)
    public init() {}
    public var value: Int { number.load(ordering: .relaxed) }
    @discardableResult public func increment() -> Int { number.add(1, ordering: .relaxed).newValue }
}

/// A number that one thread sets and another reads.
public final class Number: Sendable {
    private let number = Atomic(0)
    public init() {}
    public var value: Int { number.load(ordering: .relaxed) }
    public func set(_ value: Int) { number.store(value, ordering: .relaxed) }
}

/// Latencies in nanoseconds, which any thread may add.
public final class Latencies: Sendable {
    private let all = Mutex<[UInt64]>([])
    public init() {}
    public func add(since start: DispatchTime) {
        let now = DispatchTime.now()
        all.withLock { $0.append(now.uptimeNanoseconds - start.uptimeNanoseconds) }
    }
    public var count: Int { all.withLock(\.count) }
    /// Returns a quantile in microseconds; nil if there are no values.
    public func microseconds(_ quantile: Double) -> Double? {
        let sorted = all.withLock { $0.sorted() }
        guard !sorted.isEmpty else { return nil }
        return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * quantile))]) / 1000
    }
}

/// GLib's main loop, as GTK runs it.
public final class MainLoop: Sendable {
    private nonisolated(unsafe) let loop = g_main_loop_new(nil, 0)
    public init() {}
    deinit { g_main_loop_unref(loop) }

    /// Any thread.
    public func quit() { g_main_loop_quit(loop) }

    /// Runs the loop until `quit()`, for at most this time.
    public func run(atMost seconds: Double) {
        let timeout = g_timeout_add_full(
            G_PRIORITY_HIGH, UInt32(seconds * 1000),
            { loop in
                g_main_loop_quit(OpaquePointer(loop))
                return 1
            }, UnsafeMutableRawPointer(loop), nil)
        g_main_loop_run(loop)
        g_source_remove(timeout)
    }
}

/// Calls the closure in GLib's main loop, as an idle callback. Any thread.
public func onIdle(priority: Int32 = G_PRIORITY_DEFAULT_IDLE, _ closure: @escaping @Sendable () -> Void) {
    g_idle_add_full(
        priority,
        { box in
            Box.call(box)
            return 0
        }, Box(closure).retained, Box.release)
}

/// Calls the closure in GLib's main loop, every few milliseconds, until the process ends.
public func onTimeout(
    every milliseconds: UInt32, priority: Int32 = G_PRIORITY_DEFAULT, _ closure: @escaping @Sendable () -> Void
) {
    g_timeout_add_full(
        priority, milliseconds,
        { box in
            Box.call(box)
            return 1
        }, Box(closure).retained, Box.release)
}

/// A closure behind a pointer of C.
private final class Box: Sendable {
    private let closure: @Sendable () -> Void
    init(_ closure: @escaping @Sendable () -> Void) { self.closure = closure }
    var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func call(_ box: UnsafeMutableRawPointer?) {
        if let box { Unmanaged<Box>.fromOpaque(box).takeUnretainedValue().closure() }
    }

    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { box in
        if let box { Unmanaged<Box>.fromOpaque(box).release() }
    }
}

/// How often the calling thread has slept and was woken.
public func wakeUpsOfThisThread() -> Int {
    var usage = rusage()
    // RUSAGE_THREAD, which Swift does not import.
    getrusage(__rusage_who_t(1), &usage)
    return usage.ru_nvcsw
}
