// SPDX-License-Identifier: Apache-2.0
// Message ports in a process that has few descriptors.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

let messagePortLimitScenarios: [String: @Sendable () throws -> Void] = [
    "ports-visits": portsVisits,
    "ports-in-flight": portsInFlight,
    "ports-memory-later": portsMemoryLater,
    "ports-replies-later": portsRepliesLater,
]

private func setLimit(_ limit: __rlimit_resource, _ value: rlim_t) {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(limit.rawValue), &limits)
    limits.rlim_cur = value
    setrlimit(__rlimit_resource_t(limit.rawValue), &limits)
}

private func failure(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "sent"
    } catch GRunLoop.MessageRequestError.transportError(EMFILE) {
        return "EMFILE"
    } catch GRunLoop.MessageRequestError.transportError(ETOOMANYREFS) {
        return "ETOOMANYREFS"
    } catch { return "\(error)" }
}

/// Each client sends a request and leaves before the reply. The port keeps all requests.
private func portsVisits() throws {
    _ = RuntimeDirectory.path
    setLimit(RLIMIT_NOFILE, 100)
    let loop = GRunLoop.current
    let kept = Shared<[GRunLoop.MessagePort.Message]>([])
    let port = try GRunLoop.MessagePort("org.example.visited") { message in kept.update { $0.append(message) } }
    try loop.add(port, forMode: .default)
    var gone: [GRunLoop.RemoteMessagePort] = []
    func visit() throws {
        let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.visited")
        _ = try remote.startRequest(
            1, [], descriptors: [], sendTimeout: .zero, receiveTimeout: .seconds(60), on: loop, replyMode: "visit"
        ) { _ in }
        let count = kept.value.count
        while kept.value.count == count { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
        remote.invalidate()
        gone.append(remote)
    }
    try visit()
    loop.run(for: .zero)
    let before = openDescriptorCount()
    for _ in 1..<300 { try visit() }
    say("\(kept.value.count) visits")
    let end = GRunLoop.now + .seconds(30)
    while openDescriptorCount() > before, GRunLoop.now < end { loop.run(for: .milliseconds(1)) }
    say(openDescriptorCount() <= before ? "none is left" : "\(openDescriptorCount() - before) are left")
    withExtendedLifetime((gone, port)) { exit(0) }
}

/// The kernel limits the descriptors in flight per user, except for root.
private func portsInFlight() throws {
    if geteuid() == 0 {
        let nobody: uid_t = 65_534
        guard setgid(nobody) == 0, setuid(nobody) == 0 else { return say("no other user") }
    }
    _ = RuntimeDirectory.path
    setLimit(RLIMIT_NOFILE, 64)
    let (loop, counts) = (GRunLoop.current, Shared<[Int]>([]))
    let port = try GRunLoop.MessagePort("org.example.flight") { message in
        let taken = message.takeDescriptors()
        counts.update { $0.append(taken.count) }
        for descriptor in taken { close(descriptor) }
    }
    loop.run(for: .zero)
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.flight")
    let descriptors = [Int32](repeating: 1, count: 16)
    var sent = 0
    func send(_ timeout: Duration, _ mode: GRunLoop.Mode? = nil) -> String {
        let result = failure { try remote.send(1, descriptors: descriptors, sendTimeout: timeout, mode: mode) }
        if result == "sent" { sent += 1 }
        return result
    }
    var result = "sent"
    while result == "sent", sent < 1000 { result = send(.zero) }
    say("tried once: \(result)")
    let start = GRunLoop.now
    result = send(.milliseconds(20))
    say("for 20 ms: \(result), \(GRunLoop.now - start >= .milliseconds(20) ? "waited" : "not waited")")
    // The port joins the loop only after the message has waited for a while.
    let (passes, fires) = (Counter(), Counter())
    let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { _ in
        fires.increment()
        if fires.value == 5 { try? loop.add(port, forMode: .default) }
    }
    loop.add(timer, forMode: .default)
    let observer = loop.on(.beforeTimers) { _ in passes.increment() }
    let begin = GRunLoop.now
    result = send(.seconds(30), .default)
    let few = sent + 100 + Int((GRunLoop.now - begin) / .milliseconds(1)) * 2
    say("for 30 s: \(result), \(passes.value < few ? "few passes" : "\(passes.value) passes")")
    observer.invalidate()
    timer.invalidate()
    while counts.value.count < sent { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    let isWhole = counts.value.count == sent && counts.value.allSatisfy { $0 == 16 }
    say("received: \(isWhole ? "all, with 16 descriptors each" : "\(counts.value) of \(sent)")")
    exit(0)
}

private func portsMemoryLater() throws {
    _ = RuntimeDirectory.path
    let (loop, ids) = (GRunLoop.current, Shared<[Int32]>([]))
    let port = try GRunLoop.MessagePort("org.example.memory") { message in ids.update { $0.append(message.id) } }
    let receiving = GRunLoop.Mode("receiving")
    // Runs each mode once, so that it has the descriptors that it needs.
    for mode in [receiving, .default] {
        try loop.add(port, forMode: mode)
        loop.run(mode: mode, for: .zero)
    }
    loop.remove(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.memory")
    let large = GRunLoop.MessageData([UInt8](repeating: 7, count: 100_000))
    let opened = Shared(useUpDescriptors())
    say("tried once: \(failure { try remote.send(0, large) })")
    let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: false) { _ in
        for descriptor in opened.value { close(descriptor) }
    }
    loop.add(timer, forMode: .default)
    say("for 30 s: \(failure { try remote.send(1, large, sendTimeout: .seconds(30), mode: .default) })")
    let end = GRunLoop.now + .seconds(20)
    while ids.value.isEmpty, GRunLoop.now < end { loop.run(mode: receiving, for: .milliseconds(100)) }
    say("received: \(ids.value)")
    exit(0)
}

private func portsRepliesLater() throws {
    _ = RuntimeDirectory.path
    let (loop, limit) = (GRunLoop.current, Duration.seconds(60))
    let (kept, sizes) = (Shared<[GRunLoop.MessagePort.Reply]>([]), Shared<[Int]>([]))
    let port = try GRunLoop.MessagePort("org.example.replying") { message in
        if let reply = message.reply { kept.update { $0.append(reply) } }
    }
    try loop.add(port, forMode: .default)
    let thread = try GRunLoop.Thread(name: "client")
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.replying")
    func ask(_ count: Int) throws {
        for _ in 0..<count {
            _ = try remote.startRequest(
                1, [], descriptors: [], sendTimeout: limit, receiveTimeout: limit, on: thread.loop, replyMode: .default
            ) { outcome in
                // -1 means that there was no reply.
                sizes.update { $0.append((try? outcome.get().data.count) ?? -1) }
            }
        }
        while kept.value.count < count { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    }
    func receive(_ count: Int) {
        while sizes.value.count < count { loop.run(for: .milliseconds(20)) }
    }
    let large = GRunLoop.MessageData([UInt8](repeating: 7, count: 70_000))
    func send(_ data: GRunLoop.MessageData) -> Bool { (try? kept.update { $0.removeFirst() }.send(data)) ?? false }
    try ask(50)
    var opened = useUpDescriptors()
    func openCount() -> Int {
        // Counting needs one free descriptor.
        close(opened.removeLast())
        defer { opened.append(open("/dev/null", O_RDONLY | O_CLOEXEC)) }
        return openDescriptorCount()
    }
    let before = openCount()
    let count = (0..<50).count { _ in send(large) }
    say("\(count) are on their way, with \(openCount() - before) descriptors")
    for descriptor in opened { close(descriptor) }
    receive(50)
    say("\(sizes.value.count { $0 == 70_000 }) came")

    sizes.value = []
    signal(SIGXFSZ, SIG_IGN)
    try ask(2)
    opened = useUpDescriptors()
    _ = (send(large), send([1]))
    setLimit(RLIMIT_FSIZE, 4096)
    for descriptor in opened { close(descriptor) }
    receive(2)
    setLimit(RLIMIT_FSIZE, .max)
    say("a file that is too large: \(sizes.value[0] == -1 ? "unanswered" : "\(sizes.value[0])")")
    say("the one behind it \(sizes.value[1] == 1 ? "came" : "did not come")")
    exit(0)
}
