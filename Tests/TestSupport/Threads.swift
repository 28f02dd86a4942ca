// SPDX-License-Identifier: Apache-2.0
// Fresh threads, each with a loop of its own: for the body of a test, and for the other threads that it needs.

import GRunLoop
import Glibc

/// Runs a test's body on a new thread with a loop that nothing has touched, and returns when that thread, with its
/// destructors, has ended. The body is part of the calling task: `#expect` in it belongs to the test. It may block.
///
/// Call it once a test and never inside itself: only a few bodies run at the same time. Another thread is a
/// ``LoopThread``. The loop's time slice is ``endlessTimeSlice``, unless the test is about turns.
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

/// Where a test's thread loses the processor for 4 ms in a callout, others have their turn, and what is called next is
/// another kind of item than on a machine with nothing else to do.
public let endlessTimeSlice = Duration.seconds(3600)

/// A thread of its own that runs `body` with its own loop, whose time slice is ``endlessTimeSlice``.
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

    /// The kernel's id of the thread.
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

    /// A thread whose loop runs in `mode`, kept from being finished by a source, until ``finish()`` is called.
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

    /// Waits for the thread, its destructors included. The watchdog ends the process when it takes too long.
    public func join(timeout: Duration = Patience.normal * 2) {
        guard !isJoined else { return }
        isJoined = true
        let watchdog = Watchdog(timeout, "\(name): a thread did not end")
        pthread_join(handle, nil)
        watchdog.disarm()
    }

    /// Waits until the loop sleeps in the kernel. It may be woken at any time after that, of course.
    public func waitUntilAsleep() {
        if !fallsAsleep(within: Patience.normal) { fatalError("\(name): the loop does not sleep") }
    }

    /// Whether the loop comes to sleep in the kernel in that time.
    public func fallsAsleep(within timeout: Duration) -> Bool {
        TestSupport.fallsAsleep(loop, thread: id.value, within: timeout)
    }
}

/// Whether a loop comes to sleep in the kernel in that time, on its thread.
public func fallsAsleep(_ loop: GRunLoop, thread: pid_t, within timeout: Duration = Patience.normal) -> Bool {
    // A thread that was woken already shows as "running", whatever call it is in.
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

/// For what nobody signals: looks again and again. False when it took too long.
public func waitUntil(timeout: Duration = Patience.normal, _ condition: () -> Bool) -> Bool {
    // Not the loop's clock, which stands still in virtual time.
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

/// Runs `body` on a thread of its own, which need not have a loop, and waits for its end.
public func onPlainThread(_ body: @escaping @Sendable () -> Void) {
    pthread_join(startThread(body), nil)
}

/// How much processor time the calling thread has used.
public func threadProcessorTime() -> Duration { .nanoseconds(threadProcessorNanoseconds()) }

/// The same as a number of nanoseconds.
public func threadProcessorNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

// Whoever waits for ever calls poll(), which newer architectures do not have, and else ppoll().
#if arch(x86_64)
    private let (numberOfPoll, numberOfRestart, numberOfPpoll) = ("7", "219", "271")
#else
    private let (numberOfPoll, numberOfRestart, numberOfPpoll) = ("none", "none", "73")
#endif

/// Whether a system call is one that waits for descriptors. A poll() that a signal has ended which another thread took
/// is begun again by the kernel, with the number of restart_syscall() and the same arguments.
private func isPoll(_ call: [String]) -> Bool {
    [numberOfPoll, numberOfRestart, numberOfPpoll].contains(call.first ?? "")
}

/// Whether it is one that waits for them without a limit: `poll(records, count, -1)` or `ppoll(records, count, NULL,
/// ...)`.
public func isEndlessPoll(_ call: [String]) -> Bool {
    guard isPoll(call), call.count > 3 else { return false }
    return call.first == numberOfPpoll ? call[3] == "0x0" : call[3].hasSuffix("ffffffff")
}

/// The system call that a thread of this process is in, with its arguments, as the kernel shows it: `271 0x7f... 0x2
/// 0x0 ...`.
public func systemCall(of thread: pid_t) -> [String] {
    guard let file = fopen("/proc/self/task/\(thread)/syscall", "r") else { return [] }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 512)
    let count = fread(&buffer, 1, buffer.count, file)
    return String(decoding: buffer.prefix(count), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
}

/// Is busy for so long: a callout that takes its time.
public func spin(for duration: Duration) {
    let end = GRunLoop.now.advanced(by: duration)
    while GRunLoop.now < end {}
}

/// Waits for a thread that ``startThread(_:)`` made.
public func join(_ thread: pthread_t) {
    pthread_join(thread, nil)
}

extension GRunLoop {
    /// Runs a mode until there is nothing left to do and the loop sleeps, and stops it there: `.stopped`, with the
    /// afterWaiting of that stop. Unlike a time limit it leaves a slow machine all the time it needs. On the loop's own
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
