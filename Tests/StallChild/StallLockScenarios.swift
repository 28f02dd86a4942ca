// SPDX-License-Identifier: Apache-2.0
// Stalls of a thread that holds a lock which reports need: that of malloc(), of the dynamic linker, of standard error
// or of the log.

import CGRunGLib
import CMallocGate
import Glibc
import TestSupport

@testable import GRunLoop
@testable import GRunLoopDiagnostics

let stallLockScenarios: [String: @Sendable () throws -> Void] = [
    "stall-with-malloc-held": { stall(taking: malloc_gate_close, giving: malloc_gate_open) },
    "stall-with-malloc-held-and-a-handler": {
        stall(isLogged: false, taking: malloc_gate_close, giving: malloc_gate_open)
    },
    "stall-of-a-timer-with-malloc-held": {
        try stallWhileAsked { stall in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in stall() }
            timer.label = "planted"
            GRunLoop.main.add(timer, forMode: .default)
        }
    },
    "stall-of-a-source-with-malloc-held": {
        try stallWhileAsked { stall in
            let source = GRunLoop.main.source { stall() }
            source.label = "planted"
            source.signal()
        }
    },
    "stall-of-an-observer-with-malloc-held": {
        try stallWhileAsked { stall in
            GRunLoop.main.keepAlive()
            GRunLoop.main.on(.beforeSources, repeats: false) { _ in stall() }.label = "planted"
        }
    },
    "stall-of-a-port-with-malloc-held": {
        try stallWhileAsked { stall in
            let port = GRunLoop.Port { _ in stall() }
            port.label = "planted"
            GRunLoop.main.add(port, forMode: .default)
            _ = port.trySend(GRunLoop.PortMessage(id: 1))
        }
    },
    "stall-of-a-descriptor-with-malloc-held": {
        try stallWhileAsked { stall in
            let pipe = Pipe()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                stall()
            }
            source.label = "planted"
            try? GRunLoop.main.add(source, forMode: .default)
            pipe.send()
        }
    },
    "stall-with-standard-error-held": { stall(taking: standard_error_hold, giving: standard_error_release) },
    "stall-with-the-log-held": {
        g_log_set_writer_func(writeWithLogLock, nil, nil)
        stall(taking: { pthread_mutex_lock(logLock) }, giving: { pthread_mutex_unlock(logLock) })
    },
    "stall-with-the-labels-held": { try stallWithLabelsHeld() },
    "stall-at-the-end-of-a-thread": stallAtTheEndOfAThread,
    "stall-in-dlopen": { stallInDlopen(isLogged: true) },
    "stall-in-dlopen-and-a-handler": { stallInDlopen(isLogged: false) },
]

/// The text on standard error, and the time from the begin of the stall to its first report.
private struct Heard {
    private let pipe = Pipe()
    private(set) var text = ""
    private(set) var milliseconds = 0

    init() { dup2(pipe.writeEnd, STDERR_FILENO) }

    /// Reads until `part` is on a whole line, for some seconds at most.
    mutating func read(until part: String) {
        let begin = GRunLoop.now
        var buffer = [UInt8](repeating: 0, count: 65_536)
        repeat {
            var record = pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0)
            guard poll(&record, 1, 100) > 0 else { continue }
            let count = Glibc.read(pipe.readEnd, &buffer, buffer.count)
            text += String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        } while !(text.contains(part) && text.hasSuffix("\n")) && GRunLoop.now < begin.advanced(by: .seconds(3))
        milliseconds = Int(begin.duration(to: GRunLoop.now) / .milliseconds(1))
    }
}

nonisolated(unsafe) private var heard = Heard()
private let threshold = "200ms"

/// Prints how long the first report took, whether it was the plain notice, and then all reports.
private func report(_ first: Heard) {
    heard.read(until: "has returned")
    say("\(first.milliseconds)")
    say(first.text.contains("a report with function names follows when the thread releases") ? "notice" : "report")
    say(heard.text)
}

private func watch(isLogged: Bool) throws -> GRunLoop.StallMonitor? {
    if isLogged {
        setenv("GRUN_STALLS", threshold, 1)
        return nil
    }
    return try GRunLoop.StallMonitor(.main, threshold: .milliseconds(200)) { report in
        printToStandardError("stall: \(report)\n")
    }
}

private func stall(isLogged: Bool = true, taking take: @escaping () -> Void, giving give: @escaping () -> Void) {
    let monitor = try? watch(isLogged: isLogged)
    nonisolated(unsafe) let (take, give) = (take, give)
    nonisolated(unsafe) var first = heard
    GRunLoop.main.perform {
        take()
        stallUntilHeard()
        first = heard
        give()
    }
    GRunLoop.main.run(for: .zero)
    report(first)
    withExtendedLifetime(monitor) {}
}

/// An item's closure stalls with malloc()'s lock. Another thread takes the loop's lock while the report waits for
/// memory.
///
/// - Parameter add: makes an item that calls the closure, and adds the item to the main loop.
private func stallWhileAsked(_ add: (@escaping @Sendable () -> Void) -> Void) throws {
    let monitor = try watch(isLogged: true)
    nonisolated(unsafe) var first = heard
    let (isReady, isHeard, isTaken, isFree) = (Flag(), Flag(), Flag(), Flag())
    let asker = startThread {
        // The first call may allocate memory.
        _ = GRunLoop.main.isWaiting
        isReady.set()
        isHeard.wait()
        _ = GRunLoop.main.isWaiting
        isTaken.set()
    }
    isReady.wait()
    add {
        malloc_gate_close()
        stallUntilHeard()
        first = heard
        isHeard.set()
        if isTaken.wait(timeout: .seconds(2)) { isFree.set() }
        malloc_gate_open()
    }
    GRunLoop.main.run(for: .milliseconds(20))
    join(asker)
    report(first)
    if !isFree.isSet { say("the loop's lock is not free") }
    withExtendedLifetime(monitor) {}
}

@inline(never) private func stallUntilHeard() { heard.read(until: "stall: ") }

/// A thread holds the lock of the labels for 40 ms longer than the threshold.
private func stallWithLabelsHeld() throws {
    let monitor = try watch(isLogged: true)
    nonisolated(unsafe) var first = heard
    GRunLoop.main.after(.zero) {
        let isHeld = Flag()
        let holder = startThread {
            Labels.lock.withLock {
                isHeld.set()
                usleep(240_000)
            }
        }
        isHeld.wait()
        stallUntilHeard()
        first = heard
        join(holder)
    }.label = "planted"
    GRunLoop.main.run(for: .milliseconds(20))
    report(first)
    withExtendedLifetime(monitor) {}
}

// MARK: The end of a thread

/// A host has driven the loop. The capture of a channel's closure stalls in its deinit, in the last round of the
/// thread's destructors. GLib's memory of the thread is freed by then, and the stall looks like a host callback. Prints
/// how often the signal handler has allocated memory.
private func stallAtTheEndOfAThread() {
    setenv("GRUN_STALLS", "50ms", 1)
    let channel = GRunLoop.Channel<Int>()
    join(
        startThread {
            let witness = Witness { say("\(malloc_gate_count_while_asleep(400))") }
            let loop = GRunLoop.current
            channel.receive(on: loop) { _ in withExtendedLifetime(witness) {} }
            for _ in 0..<3 { loop.homeContext?.withPointer { _ = g_main_context_iteration($0, 0) } }
        })
}

// MARK: The log

nonisolated(unsafe) private let logLock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
}()

private let writeWithLogLock: GLogWriterFunc = { level, fields, count, data in
    pthread_mutex_lock(logLock)
    defer { pthread_mutex_unlock(logLock) }
    return g_log_writer_default(level, fields, count, data)
}

// MARK: The dynamic linker

/// Stalls in the dynamic linker's first malloc(), when the linker holds its lock.
private func stallInDlopen(isLogged: Bool) {
    let monitor = try? watch(isLogged: isLogged)
    let asker = startThread {
        isInDlopen.wait()
        dynamic_linker_ask()
        if !isOutOfDlopen.isSet { say("the linker's lock is free") }
    }
    GRunLoop.main.perform {
        malloc_gate_call_in_linker {
            isInDlopen.set()
            stallUntilHeard()
            inDlopen = heard
            isOutOfDlopen.set()
        }
        // libc provides this library, and nothing has loaded it.
        if dlopen("libanl.so.1", RTLD_NOW) == nil { say("no library") }
    }
    GRunLoop.main.run(for: .zero)
    join(asker)
    report(inDlopen)
    withExtendedLifetime(monitor) {}
}

private let isInDlopen = Flag()
private let isOutOfDlopen = Flag()
nonisolated(unsafe) private var inDlopen = heard
