// SPDX-License-Identifier: Apache-2.0
// New threads with their own loops, for the body of a test and for the other threads that it needs.

import GRunLoop
import Glibc

/// Runs a test's body on a new thread with an unused loop, and returns after that thread and its destructors have
/// ended. The body is part of the calling task, so `#expect` in it belongs to the test. It may block.
///
/// Call it once per test and never inside itself, because only a few bodies run at the same time. For another thread,
/// use ``LoopThread``. The loop's time slice is ``endlessTimeSlice``, unless the test is about turns.
public func onFreshThread<Result: Sendable>(
    timeSlice: Duration = endlessTimeSlice, timeout: Duration = Patience.normal * 3, function: String = #function,
    _ body: @escaping @Sendable (GRunLoop) throws -> Result
) async throws -> Result {
    await Turns.shared.take()
    let thread = ThreadExecutor(name: function)
    let watchdog = Watchdog(timeout, "\(function) did not end")
    let outcome = await withTaskExecutorPreference(thread) { () -> Swift.Result<Result, any Error> in
        thread.perform { loop in
            loop.timeSlice = timeSlice
            return Swift.Result { try body(loop) }
        }
    }
    thread.endAndJoin()
    watchdog.disarm()
    await Turns.shared.giveBack()
    return try outcome.get()
}

/// The time slice of most tests. With a short slice, a thread that loses the processor for 4 ms in a callout would call
/// other kinds of items next than on an idle machine.
public let endlessTimeSlice = Duration.seconds(3600)

/// A new thread that runs `body` with its own loop, whose time slice is ``endlessTimeSlice``.
public final class LoopThread: @unchecked Sendable {
    private let started = Shared<GRunLoop?>(nil)
    private let ended = Flag()
    private let id = Shared<pid_t>(0)
    private let body: @Sendable (GRunLoop) -> Void
    private(set) var handle = pthread_t()
    private let name: String
    private var isJoined = false

    /// The thread's loop. It may be used after the thread has ended.
    public var loop: GRunLoop {
        guard started.wait(until: { $0 != nil }), let loop = started.value else {
            fatalError("\(name): the thread did not start")
        }
        return loop
    }

    /// The kernel's thread id.
    public var kernelID: pid_t { id.value }

    public init(function: String = #function, _ body: @escaping @Sendable (GRunLoop) -> Void) {
        name = function
        self.body = body
        handle = startThread { [self] in
            id.value = threadID
            let loop = GRunLoop.current
            loop.timeSlice = endlessTimeSlice
            started.value = loop
            body(loop)
            ended.set()
        }
        _ = loop
    }

    /// Starts a thread whose loop runs in `mode` until ``finish()`` is called. A source keeps the mode alive.
    public static func running(_ mode: GRunLoop.Mode = .default, function: String = #function) -> LoopThread {
        let thread = LoopThread(function: function) { loop in
            loop.add(GRunLoop.Source {}, forMode: mode)
            loop.run(mode: mode)
        }
        thread.waitUntilAsleep()
        return thread
    }

    /// Stops the thread's innermost run, and joins.
    public func finish() {
        while !ended.isSet {
            loop.stop()
            if ended.wait(timeout: .milliseconds(50)) { break }
        }
        join()
    }

    /// Whether the body has returned; the thread's destructors may still be running.
    public var hasEnded: Bool { ended.isSet }

    /// Waits for the thread and its destructors. The watchdog ends the process after a timeout.
    public func join(timeout: Duration = Patience.normal * 2) {
        guard !isJoined else { return }
        isJoined = true
        let watchdog = Watchdog(timeout, "\(name): a thread did not end")
        pthread_join(handle, nil)
        watchdog.disarm()
    }

    /// Waits until the loop sleeps in the kernel. Afterwards it may be woken at any time.
    public func waitUntilAsleep() {
        if !fallsAsleep(within: Patience.normal) { fatalError("\(name): the loop does not sleep") }
    }

    /// Whether the loop falls asleep in the kernel within the timeout.
    public func fallsAsleep(within timeout: Duration) -> Bool {
        TestSupport.fallsAsleep(loop, thread: id.value, within: timeout)
    }
}

/// Whether a loop falls asleep in the kernel within the timeout, on its thread.
public func fallsAsleep(_ loop: GRunLoop, thread: pid_t, within timeout: Duration = Patience.normal) -> Bool {
    // A thread that was already woken shows as "running" in any system call.
    waitUntil(timeout: timeout) { loop.isWaiting && isPoll(systemCall(of: thread)) }
}

/// The state of a thread of this process as the kernel shows it: "S" asleep, "R" running.
public func threadState(_ thread: pid_t) -> Character? {
    guard let file = fopen("/proc/self/task/\(thread)/stat", "r") else { return nil }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 512)
    let count = fread(&buffer, 1, buffer.count - 1, file)
    let text = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let end = text.lastIndex(of: ")") else { return nil }
    return text[text.index(end, offsetBy: 2)...].first
}

/// Waits by polling, for conditions without a signal. Returns false after a timeout.
public func waitUntil(timeout: Duration = Patience.normal, _ condition: () -> Bool) -> Bool {
    // The loop's clock stands still in virtual time, so this uses another clock.
    let end = ContinuousClock.now.advanced(by: timeout)
    while !condition() {
        if ContinuousClock.now > end { return condition() }
        usleep(300)
    }
    return true
}

/// How long `body` took.
public func elapsed(_ body: () throws -> Void) rethrows -> Duration {
    let start = GRunLoop.now
    try body()
    return start.duration(to: GRunLoop.now)
}

private final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// A joinable thread.
public func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    var thread = pthread_t()
    let error = pthread_create(
        &thread, nil,
        { start in
            guard let start else { return nil }
            // libdispatch's threads block every signal, and their children inherit that.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            Unmanaged<Start>.fromOpaque(start).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(Start(body)).toOpaque())
    precondition(error == 0, "pthread_create failed with \(error)")
    return thread
}

/// Runs `body` on a new thread, which need not have a loop, and waits for its end.
public func onPlainThread(_ body: @escaping @Sendable () -> Void) {
    pthread_join(startThread(body), nil)
}

/// The processor time that the calling thread has used.
public func threadProcessorTime() -> Duration { .nanoseconds(threadProcessorNanoseconds()) }

/// The processor time that the calling thread has used, in nanoseconds.
public func threadProcessorNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

// A wait without a limit calls poll(). Newer architectures lack poll(), so it calls ppoll() there.
#if arch(x86_64)
    private let (numberOfPoll, numberOfRestart, numberOfPpoll) = ("7", "219", "271")
#else
    private let (numberOfPoll, numberOfRestart, numberOfPpoll) = ("none", "none", "73")
#endif

/// Whether a system call waits for descriptors. If another thread takes the signal that interrupted a poll(), the
/// kernel restarts the poll as restart_syscall() with the same arguments.
private func isPoll(_ call: [String]) -> Bool {
    [numberOfPoll, numberOfRestart, numberOfPpoll].contains(call.first ?? "")
}

/// Whether a system call waits for descriptors without a limit: `poll(records, count, -1)` or `ppoll(records, count,
/// NULL, ...)`.
public func isEndlessPoll(_ call: [String]) -> Bool {
    guard isPoll(call), call.count > 3 else { return false }
    return call.first == numberOfPpoll ? call[3] == "0x0" : call[3].hasSuffix("ffffffff")
}

/// The current system call of a thread of this process with its arguments, as the kernel shows it: `271 0x7f... 0x2 0x0
/// ...`.
public func systemCall(of thread: pid_t) -> [String] {
    guard let file = fopen("/proc/self/task/\(thread)/syscall", "r") else { return [] }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 512)
    let count = fread(&buffer, 1, buffer.count, file)
    return String(decoding: buffer.prefix(count), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
}

/// Keeps the processor busy for this time, like a slow callout.
public func spin(for duration: Duration) {
    let end = GRunLoop.now.advanced(by: duration)
    while GRunLoop.now < end {}
}

/// Waits for a thread that ``startThread(_:)`` made.
public func join(_ thread: pthread_t) {
    pthread_join(thread, nil)
}

extension GRunLoop {
    /// Runs a mode until nothing is left to do and the loop sleeps, and stops it there. Returns `.stopped`, and that
    /// stop causes an afterWaiting. Unlike a time limit, it works on a slow machine. Must be called on the loop's own
    /// thread.
    public func runUntilAsleep(_ mode: Mode = .default) -> RunResult {
        let thread = threadID
        let hasReturned = Flag()
        let watcher = startThread { [self] in
            let isAsleep = waitUntil { hasReturned.isSet || (isWaiting && isPoll(systemCall(of: thread))) }
            precondition(isAsleep, "the loop does not sleep")
            if !hasReturned.isSet { stop() }
        }
        defer {
            hasReturned.set()
            join(watcher)
        }
        return run(mode: mode)
    }
}
