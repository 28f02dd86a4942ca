// SPDX-License-Identifier: Apache-2.0
// Effects of signals on a process, and of a process on its signals.

import GRunLoop
import Glibc
import TestSupport

let signalScenarios: [String: @Sendable () throws -> Void] = [
    "signals-queued": signalsQueued,
    "signals-in-bursts": signalsInBursts,
    "signals-default": signalsDefault,
    "signals-nohup": signalsNohup,
    "signals-forked": signalsForked,
    "signals-executed": signalsExecuted,
    "signals-without-descriptors": signalsWithoutDescriptors,
    "signals-after-many": signalsAfterMany,
    "signals-copied": signalsCopied,
]

/// Uses two loops with their threads, and another process that sends as fast as the kernel accepts signals.
private func signalsQueued() throws {
    let (signal, wanted) = (queuedSignal(0), 10_000)
    let threads = [LoopThread.running(), LoopThread.running()]
    let counts = Shared([0, 0])
    for (number, thread) in threads.enumerated() {
        let source = try GRunLoop.SignalSource(signal) { _, count in counts.update { $0[number] += count } }
        try thread.loop.add(source, forMode: .default)
    }
    let receiver = getpid()
    let sender = fork {
        for _ in 0..<wanted {
            // The kernel limits the number of queued signals.
            while sigqueue(receiver, signal, sigval()) != 0 { if errno != EAGAIN { return 1 } }
        }
        return 0
    }
    let code = reap(sender)
    _ = counts.wait { $0 == [wanted, wanted] }
    // Waits for surplus signals.
    usleep(20_000)
    say(code == 0 ? "\(counts.value[0]) and \(counts.value[1]) of \(wanted)" : "the sender failed")
}

private func signalsInBursts() throws {
    // Shared with the sender: the time of its last signal, and the number of signals.
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
    guard let sent = page?.bindMemory(to: Int64.self, capacity: 2) else { return say("no memory") }
    let thread = LoopThread.running()
    let latest = Shared<Int64>(0)
    let (callouts, counted) = (Shared(0), Shared(0))
    let source = try GRunLoop.SignalSource(SIGUSR1) { _, count in
        latest.value = now()
        callouts.update { $0 += 1 }
        counted.update { $0 += count }
    }
    try thread.loop.add(source, forMode: .default)
    let receiver = getpid()
    let sender = fork {
        for burst in 0..<200 {
            for _ in 0..<(burst % 7 * 20 + 1) {
                sent[1] += 1
                sent[0] = now()
                kill(receiver, SIGUSR1)
            }
            usleep(useconds_t(burst % 3 * 50))
        }
        return 0
    }
    reap(sender)
    say(latest.wait { $0 > sent[0] } ? "after the last one" : "no callout after the last one")
    let isWithin = callouts.value <= counted.value && counted.value <= sent[1] && callouts.value > 0
    say(isWithin ? "not more than sent" : "\(callouts.value) callouts, \(counted.value) counted, \(sent[1]) sent")
}

private func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

private func signalsDefault() throws {
    // Plain threads that have no signal blocked.
    let leave = Flag()
    let others = (0..<8).map { _ in startThread { _ = leave.wait() } }
    let thread = LoopThread.running()
    let count = Shared(0)
    let source = try GRunLoop.SignalSource(SIGTERM) { _, _ in count.update { $0 += 1 } }
    try thread.loop.add(source, forMode: .default)
    for number in 1...20 {
        if number % 2 == 0 { sendToProcess(SIGTERM) } else { pthread_kill(others[number % 8], SIGTERM) }
        if !count.wait(until: { $0 == number }) { return say("heard \(count.value) times only") }
    }
    say("heard \(count.value) times with \(others.count) threads")
    source.invalidate()
    say(disposition(of: SIGTERM) == "default" ? "given back" : "not given back")
    sendToProcess(SIGTERM)
    sleep(20)
    say("still alive")
}

private func signalsNohup() throws {
    signal(SIGHUP, SIG_IGN)
    let thread = LoopThread.running()
    let heard = Flag()
    let source = try GRunLoop.SignalSource(SIGHUP) { _, _ in heard.set() }
    try thread.loop.add(source, forMode: .default)
    raiseHere(SIGHUP)
    say(heard.wait() ? "heard" : "not heard")
    source.invalidate()
    raiseHere(SIGHUP)
    say("\(disposition(of: SIGHUP)) again")
}

private func signalsForked() throws {
    let thread = LoopThread.running()
    let count = Shared(0)
    let source = try GRunLoop.SignalSource(SIGUSR1) { _, more in count.update { $0 += more } }
    try thread.loop.add(source, forMode: .default)
    let child = fork {
        for _ in 0..<100 { raise(SIGUSR1) }
        say("child: went on")
        return 0
    }
    reap(child)
    usleep(20_000)
    say("parent: \(count.value)")
    sendToProcess(SIGUSR1)
    _ = count.wait { $0 == 1 }
    say("parent: \(count.value)")
}

private func signalsExecuted() throws {
    let before = (
        startedProgram("ls /proc/self/fd | wc -l"), startedProgram("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    )
    let thread = LoopThread.running()
    let sources = try [SIGTERM, SIGINT, SIGHUP, queuedSignal(1)].map { try GRunLoop.SignalSource($0) { _, _ in } }
    for source in sources { try thread.loop.add(source, forMode: .default) }
    let after = (
        startedProgram("ls /proc/self/fd | wc -l"), startedProgram("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    )
    say(before.0 == after.0 ? "the same descriptors" : "\(before.0) descriptors, then \(after.0)")
    say(before.1 == after.1 && after.1.contains("SigBlk:\t0000000000000000") ? "nothing blocked, as before" : after.1)
}

/// Returns the output of a line of shell.
private func startedProgram(_ line: String) -> String {
    guard let stream = popen(line, "r") else { return "popen failed" }
    defer { pclose(stream) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, stream)
    return String(decoding: buffer.prefix(count), as: UTF8.self)
}

private func signalsWithoutDescriptors() throws {
    let loop = GRunLoop.current
    let opened = useUpDescriptors()
    do throws(GRunLoop.SystemError) {
        _ = try GRunLoop.SignalSource(SIGUSR1) { _, _ in }
    } catch {
        if case .limitReached = error { say("limitReached") } else { say("\(error)") }
    }
    say(disposition(of: SIGUSR1))
    for descriptor in opened.prefix(4) { close(descriptor) }
    let heard = Flag()
    let source = try GRunLoop.SignalSource(SIGUSR1) { _, _ in heard.set() }
    try loop.add(source, forMode: .default)
    raiseHere(SIGUSR1)
    loop.run(for: .zero)
    say(heard.isSet ? "heard" : "not heard")
}

/// Measures the cost of a signal before hundreds of sources exist, beside them and after them.
private func signalsAfterMany() throws {
    let signal = queuedSignal(2)
    let first = try GRunLoop.SignalSource(signal) { _, _ in }
    func cost() -> Int64 {
        (0..<5).map { _ in
            let start = threadProcessorNanoseconds()
            raiseHere(signal, times: 100)
            return threadProcessorNanoseconds() - start
        }.min() ?? 0
    }
    let before = cost()
    // This stays below the descriptor limit of any process.
    var many = try (0..<800).map { _ in try GRunLoop.SignalSource(signal) { _, _ in } }
    let amid = cost()
    many.removeAll()
    let after = cost()
    say(amid > before * 4 ? "each of them costs" : "no dearer beside 800: \(before) ns, \(amid) ns")
    say(after < before * 4 ? "none that has gone does" : "\(before) ns, and \(after) ns for 100")
    withExtendedLifetime(first) {}
}

nonisolated(unsafe) private var theirValue: Int32 = 0

/// The program has saved our handler while a source listened, and restores it after the last source has ended.
private func signalsCopied() throws {
    func putBackCopy(of signal: Int32) throws {
        var (saved, other) = (sigaction(), sigaction())
        let source = try GRunLoop.SignalSource(signal, replacing: true) { _, _ in }
        sigaction(signal, &other, &saved)
        sigaction(signal, &saved, nil)
        source.invalidate()
        let before = disposition(of: signal)
        sigaction(signal, &saved, nil)
        if before == disposition(of: signal) { say("\(signal): not put back") }
    }
    signal(SIGUSR1, SIG_IGN)
    try putBackCopy(of: SIGUSR1)
    raiseHere(SIGUSR1)
    say("ignored")

    var theirs = sigaction()
    theirs.sa_flags = SA_SIGINFO
    theirs.__sigaction_handler.sa_sigaction = { _, info, _ in
        theirValue += info?.pointee._sifields._rt.si_sigval.sival_int ?? 0
    }
    let queued = queuedSignal(3)
    sigaction(queued, &theirs, nil)
    try putBackCopy(of: queued)
    for value in 1...2 as ClosedRange<Int32> {
        unblock(queued)
        errno = 77
        sigqueue(getpid(), queued, sigval(sival_int: value * 20))
        _ = waitUntil { theirValue >= value * 20 }
    }
    say("theirs: \(theirValue)")
    // The program's handler is active again. After another source it is restored once more.
    let heard = Flag()
    let thread = LoopThread.running()
    let source = try GRunLoop.SignalSource(queued, replacing: true) { _, _ in heard.set() }
    try thread.loop.add(source, forMode: .default)
    raiseHere(queued)
    say(heard.wait() ? "heard" : "not heard")
    source.invalidate()
    raiseHere(queued)
    say("theirs: \(theirValue > 60 || theirValue == 60 ? "again" : "lost")")

    // By default, SIGWINCH is ignored, and SIGTERM ends the process.
    try putBackCopy(of: SIGWINCH)
    raiseHere(SIGWINCH)
    try putBackCopy(of: SIGTERM)
    let child = fork {
        unblock(SIGTERM)
        raise(SIGTERM)
        // Thread Sanitizer may delay the signal until the thread blocks.
        usleep(100_000)
        return 0
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    say(status == SIGTERM ? "ended a forked child" : "a forked child: \(status)")
    raiseHere(SIGTERM)
    say("still alive")
}
