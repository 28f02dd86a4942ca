// SPDX-License-Identifier: Apache-2.0
// The program closes descriptors of the loop that it does not own.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

/// As closefrom(3), which older C libraries lack.
private func closeAll(from first: Int32 = 3) {
    for descriptor in first..<256 { close(descriptor) }
}

/// Limits the processor time, so that the kernel ends a loop that spins.
private func limitProcessorTime() {
    var limit = rlimit(rlim_cur: 20, rlim_max: 20)
    setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
}

/// Closes descriptors in a callout of a descriptor source that is always ready.
func closedInACallout() {
    limitProcessorTime()
    onPlainThread {
        let pipe = Pipe()
        let loop = GRunLoop.current
        let calls = Counter()
        let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
            if calls.increment() == 1 { closeAll() }
        }
        try? loop.add(source, forMode: .default)
        pipe.send()
        loop.run()
    }
}

/// The loop has only a timer, so the closed descriptors are GLib's.
func closedWithoutDescriptors() {
    limitProcessorTime()
    onPlainThread {
        let loop = GRunLoop.current
        let fires = Counter()
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
            if fires.increment() == 1 { closeAll() }
        }
        loop.add(timer, forMode: .default)
        loop.run()
    }
}

func closedMainQueue() {
    limitProcessorTime()
    let loop = GRunLoop.main
    DispatchQueue.main.async { closeAll() }
    loop.run()
}

/// Sets a limit that is lower than the number of descriptors in the poll.
func pollRefused() {
    limitProcessorTime()
    onPlainThread {
        let loop = GRunLoop.current
        loop.keepAlive()
        loop.perform {
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        loop.run()
    }
}

/// The open descriptors of a kind: epoll or timer.
private func descriptors(of kind: String) -> Set<Int32> {
    var found: Set<Int32> = []
    for descriptor in 3..<256 as Range<Int32> {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        let name = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if name.contains(kind) { found.insert(descriptor) }
    }
    return found
}

func closedUnderAHost() {
    closeUnderAHost("eventpoll") { loop, pipe, calls in
        let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in calls.increment() }
        try? loop.add(source, forMode: .default)
        pipe.send()
        return { source.invalidate() }
    }
}

/// A host waits for descriptors of one mode, and then of another mode, whose epoll cannot be duplicated for a while.
func modesUnderAHostAtTheLimit() throws {
    let loop = GRunLoop.main
    let calls = Shared<[String]>([])
    let pipes = ["default": Pipe(), "other": Pipe()]
    for (mode, pipe) in pipes {
        let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
            pipe.drain()
            calls.update { $0.append(mode) }
        }
        try loop.add(source, forMode: mode == "default" ? .default : "other")
    }
    settleHost()
    let before = descriptors(of: "eventpoll")
    guard let duplicate = before.max(), before.count == 3 else { return say("\(before)") }
    // The kernel refuses to duplicate a descriptor onto a number beyond the limit.
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var lower = limit
    lower.rlim_cur = rlim_t(duplicate)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lower)
    let token = try loop.push(ambientMode: "other")
    settleHost()
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    for pipe in pipes.values { pipe.send() }
    iterateHost { !calls.value.isEmpty }
    settleHost()
    say("called in \(calls.value), \(descriptors(of: "eventpoll") == before ? "the same" : "more") descriptors")
    token.pop()
    iterateHost { calls.value.count > 1 }
    say("called in \(calls.value)")
}

func closedTimerUnderAHost() {
    closeUnderAHost("timerfd") { loop, _, calls in
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in calls.increment() }
        loop.add(timer, forMode: .default)
        return { timer.invalidate() }
    }
}

/// The loop does not need the descriptor any more, but the hub still has it, so each poll reports it.
func closedIdleTimerUnderAHost() {
    closeUnderAHost("timerfd", endsFirst: true) { loop, _, calls in
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in calls.increment() }
        loop.add(timer, forMode: .default)
        return { timer.invalidate() }
    }
}

/// A host serves an item. Then the loop's descriptors for it are closed, and foreign descriptors reuse the numbers.
private func closeUnderAHost(_ kind: String, endsFirst: Bool = false, addItem: (GRunLoop, Pipe, Counter) -> () -> Void)
{
    limitProcessorTime()
    let loop = GRunLoop.main
    let (pipe, calls) = (Pipe(), Counter())
    settleHost()
    let before = descriptors(of: kind)
    let end = addItem(loop, pipe, calls)
    iterateHost { calls.value > 3 }
    if endsFirst { end() }
    let closed = descriptors(of: kind).subtracting(before)
    for descriptor in closed { close(descriptor) }
    iterateHost(for: .milliseconds(100))
    let silent = calls.value
    // The kernel gives out the lowest free numbers, which are the closed ones.
    let strangers = closed.map { _ in EventDescriptor() }
    say("closed: \(closed.isEmpty ? "none" : "some"), taken: \(Set(strangers.map(\.descriptor)) == closed)")
    iterateHost(for: .milliseconds(100))
    say("silent: \(calls.value == silent)")
    say("the host sleeps: \(hostSleeps())")
    end()
    loop.detach()
    say("strangers untouched: \(strangers.allSatisfy { isUntouched($0.descriptor) })")
    say("a run of ours:")
    loop.attach()
    loop.keepAlive()
    loop.run(for: .zero)
    say("came back")
}

/// Whether the host's iterations wait. If a poll ended immediately, there would be thousands of iterations.
private func hostSleeps() -> Bool {
    let end = GRunLoop.now.advanced(by: .milliseconds(200))
    let timeout = GLibSource.timeout(nil, milliseconds: 20) { true }
    defer { timeout.destroy() }
    var iterations = 0
    while GRunLoop.now < end {
        g_main_context_iteration(nil, 1)
        iterations += 1
    }
    return iterations < 200
}

/// Whether an eventfd is open and was not written to.
private func isUntouched(_ descriptor: Int32) -> Bool {
    var count: UInt64 = 0
    return read(descriptor, &count, 8) < 0 && errno == EAGAIN
}
