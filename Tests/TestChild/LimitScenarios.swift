// SPDX-License-Identifier: Apache-2.0
// Scenarios of a process that may open no further descriptor.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

/// Opens descriptors until the system refuses, and returns them.
func useUpDescriptors() -> [Int32] {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = 64
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var opened: [Int32] = []
    while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 { opened.append(descriptor) }
    return opened
}

func descriptorLimit() {
    onPlainThread { limitOnAThread() }
    limitOnTheMainThread()
}

private func limitOnAThread() {
    let pipe = Pipe()
    let opened = useUpDescriptors()
    let loop = GRunLoop.current
    say("a thread got its loop")
    let trace = Recorder()
    let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
        pipe.drain()
        trace("descriptor")
    }
    do throws(GRunLoop.SystemError) {
        try loop.add(descriptor, forMode: .default)
        say("a descriptor source was added")
    } catch {
        if case .limitReached = error { say("adding a descriptor source: limitReached") } else { say("\(error)") }
    }
    loop.source { trace("source") }.signal()
    loop.after(.zero) { trace("timer") }
    loop.keepAlive("private")
    say("a source and a timer were added")
    let result = loop.run(for: .seconds(5))
    say("run: \(result), \(trace.lines.isEmpty ? "nothing ran" : "something ran")")
    let privateResult = loop.run(mode: "private", for: .seconds(5))
    say("private run: \(privateResult), \(trace.lines.isEmpty ? "nothing ran" : "something ran")")

    do throws(GRunLoop.SystemError) {
        _ = try GRunLoop.Thread()
        say("a thread with a loop was started")
    } catch {
        say("a thread with a loop: \(error == .limitReached(errno: EMFILE) ? "limitReached" : "\(error)")")
    }

    for number in opened { close(number) }
    pipe.send()
    do {
        try loop.add(descriptor, forMode: .default)
    } catch {
        say("\(error)")
    }
    for _ in 0..<3 { loop.run(for: .zero) }
    say("now it works: \(trace.lines.joined(separator: ", "))")
}

private func limitOnTheMainThread() {
    let opened = useUpDescriptors()
    let loop = GRunLoop.main
    let trace = Recorder()
    loop.after(.zero) { trace("main timer") }
    say("main loop: \(loop.run(for: .seconds(5)))")
    for number in opened { close(number) }
    DispatchQueue.main.async { trace("main queue") }
    for _ in 0..<2 { loop.run(for: .zero) }
    say("now it works: \(trace.lines.joined(separator: ", "))")
}

/// The host has no descriptor to wait for timers and descriptors. The loop serves them when the host iterates for
/// another reason, and logs that once.
func descriptorLimitUnderAHost() throws {
    let loop = GRunLoop.main
    settleHost()
    let trace = Recorder()
    let pipe = Pipe()
    let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
        pipe.drain()
        trace("descriptor")
    }
    try loop.add(descriptor, forMode: .default)
    let opened = useUpDescriptors()
    func serveOnce(_ name: String) {
        loop.after(.milliseconds(1)) { trace("timer") }
        pipe.send()
        let end = GRunLoop.now.advanced(by: Patience.normal)
        while trace.lines.count < 2, GRunLoop.now < end {
            g_main_context_iteration(nil, 0)
            usleep(1000)
        }
        say("\(name): \(trace.take().sorted().joined(separator: ", "))")
    }
    serveOnce("at the limit")
    serveOnce("once more")
    for descriptor in opened { close(descriptor) }
    // Now the host can sleep until the timer is due.
    loop.after(.milliseconds(20)) { trace("timer") }
    iterateHost { trace.lines == ["timer"] }
    pipe.send()
    iterateHost { trace.lines == ["timer", "descriptor"] }
    say("afterwards: \(trace.lines.joined(separator: ", "))")
}
