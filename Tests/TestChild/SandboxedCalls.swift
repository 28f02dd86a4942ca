// SPDX-License-Identifier: Apache-2.0
// Messages of the library if a sandbox forbids a system call. Each scenario forbids one call.

import CGRunGLib
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

#if arch(x86_64)
    private let numbers: [String: UInt32] = [
        "accept4": 288, "connect": 42, "epoll_create1": 291, "epoll_ctl": 233, "epoll_wait": 232, "eventfd2": 290,
        "memfd_create": 319,
        "pipe2": 293, "ppoll": 271, "rt_sigaction": 13, "socket": 41, "timerfd_create": 283,
    ]
#else
    // This architecture has epoll_pwait() in the place of epoll_wait().
    private let numbers: [String: UInt32] = [
        "accept4": 242, "connect": 203, "epoll_create1": 20, "epoll_ctl": 21, "epoll_wait": 22, "eventfd2": 19,
        "memfd_create": 279,
        "pipe2": 59, "ppoll": 73, "rt_sigaction": 134, "socket": 198, "timerfd_create": 85,
    ]
#endif

private let sandboxedCalls: [(name: String, body: @Sendable (Int32) throws -> Void)] = [
    ("epoll_create1", addsWithoutEpoll), ("epoll_ctl", addsInVain), ("epoll_ctl-later", removesInVain),
    ("epoll_ctl-removed", hearsOfRemoved),
    ("epoll_wait", waitsInVain), ("epoll_wait-host", waitsInVainUnderAHost), ("eventfd2", runsWithoutMainQueue),
    ("eventfd2-signal", listensInVain), ("rt_sigaction", handlesInVain), ("timerfd_create", firesUnderAHost),
    ("timerfd_create-port", makesPortInVain), ("socket", looksUpInVain), ("connect", connectsInVain),
    ("accept4", acceptsInVain),
    ("memfd_create", sendsInVain), ("ppoll", sleepsInVain), ("pipe2", runsPrivateMode),
]

/// "sandboxed-epoll_ctl-EPERM" and so on. An optional part after the call's name names the action.
let sandboxScenarios: [String: @Sendable () throws -> Void] = Dictionary(
    uniqueKeysWithValues: sandboxedCalls.flatMap { scenario in
        [("EPERM", EPERM), ("ENOSYS", ENOSYS)].map { name, code in
            ("sandboxed-\(scenario.name)-\(name)", { @Sendable in try scenario.body(code) })
        }
    })

private func forbid(_ call: String, _ code: Int32) { forbidSystemCall(numbers[call] ?? 0, error: code) }

/// Prints an error's text, and whether it is one of the cases for forbidden calls.
private func sayError(_ body: () throws -> Void) {
    do {
        try body()
        say("no error")
    } catch { say("\(isForbidden(error) ? "forbidden: " : "")\(error)") }
}

private func isForbidden(_ error: any Error) -> Bool {
    switch error {
    case GRunLoop.SystemError.forbidden, GRunLoop.SystemError.forbidden, GRunLoop.MessagePortError.forbidden: true
    default: false
    }
}

@Sendable private func addsWithoutEpoll(_ code: Int32) throws {
    let pipe = Pipe()
    forbid("epoll_create1", code)
    sayError {
        try GRunLoop.current.add(GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }, forMode: .default)
    }
}

/// Without a filter, the error says that the file cannot be polled.
@Sendable private func addsInVain(_ code: Int32) throws {
    let (loop, pipe) = (GRunLoop.current, Pipe())
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    do throws(GRunLoop.SystemError) {
        try loop.add(GRunLoop.DescriptorSource(descriptor: file) { _, _ in }, forMode: .default)
    } catch { say(error == .notPollable(descriptor: file) ? "not pollable" : "\(error)") }
    forbid("epoll_ctl", code)
    sayError { try loop.add(GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }, forMode: .default) }
}

@Sendable private func removesInVain(_ code: Int32) throws {
    let pipe = Pipe()
    let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
    try GRunLoop.current.add(source, forMode: .default)
    forbid("epoll_ctl", code)
    source.conditions = [.readable, .priority]
    GRunLoop.current.remove(source, forMode: .default)
}

/// The kernel still reports a descriptor that no source waits for any more.
@Sendable private func hearsOfRemoved(_ code: Int32) throws {
    let (gone, kept) = (Pipe(), Pipe())
    let sources = [gone, kept].map { GRunLoop.DescriptorSource(descriptor: $0.readEnd) { _, _ in say("performed") } }
    for source in sources { try GRunLoop.current.add(source, forMode: .default) }
    forbid("epoll_ctl", code)
    sources[0].invalidate()
    gone.send()
    say("\(GRunLoop.current.run(for: .milliseconds(50)))")
    withExtendedLifetime(kept) {}
}

@Sendable private func waitsInVain(_ code: Int32) throws {
    let pipe = Pipe()
    try GRunLoop.current.add(
        GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in say("performed") }, forMode: .default)
    forbid("epoll_wait", code)
    pipe.send()
    GRunLoop.current.run(for: .seconds(5), returningAfterSourceHandled: true)
    say("came back")
}

@Sendable private func waitsInVainUnderAHost(_ code: Int32) throws {
    let pipe = Pipe()
    try GRunLoop.main.add(
        GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in say("performed") }, forMode: .default)
    forbid("epoll_wait", code)
    pipe.send()
    for _ in 0..<10 { g_main_context_iteration(nil, 0) }
    say("the host goes on")
}

@Sendable private func runsWithoutMainQueue(_ code: Int32) throws {
    forbid("eventfd2", code)
    let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in say("fired") }
    GRunLoop.main.add(timer, forMode: .default)
    say("\(GRunLoop.main.run(for: .seconds(5)))")
}

@Sendable private func listensInVain(_ code: Int32) throws {
    forbid("eventfd2", code)
    sayError { _ = try GRunLoop.SignalSource(SIGUSR1) { _, _ in } }
}

@Sendable private func handlesInVain(_ code: Int32) throws {
    forbid("rt_sigaction", code)
    sayError { _ = try GRunLoop.SignalSource(SIGUSR1) { _, _ in } }
}

@Sendable private func firesUnderAHost(_ code: Int32) throws {
    forbid("timerfd_create", code)
    let fired = Counter()
    GRunLoop.main.add(
        GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in fired.increment() }, forMode: .default)
    let end = GRunLoop.now.advanced(by: .seconds(10))
    while fired.value < 3, GRunLoop.now < end { g_main_context_iteration(nil, 0) }
    say(fired.value < 3 ? "late" : "fired")
}

@Sendable private func makesPortInVain(_ code: Int32) throws {
    _ = RuntimeDirectory.path
    forbid("timerfd_create", code)
    sayError { _ = try GRunLoop.MessagePort(RuntimeDirectory.newName()) { _ in } }
}

@Sendable private func looksUpInVain(_ code: Int32) throws {
    _ = RuntimeDirectory.path
    forbid("socket", code)
    sayError { _ = try GRunLoop.RemoteMessagePort.lookUp("org.example.socket") }
}

@Sendable private func connectsInVain(_ code: Int32) throws {
    let port = try GRunLoop.MessagePort(RuntimeDirectory.newName()) { _ in }
    forbid("connect", code)
    sayError { _ = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "") }
}

/// The error is logged once, and the loop sleeps.
@Sendable private func acceptsInVain(_ code: Int32) throws {
    _ = RuntimeDirectory.path
    let (loop, name) = (GRunLoop.current, "org.example.accept")
    let port = try GRunLoop.MessagePort(name) { _ in }
    try loop.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    let passes = Counter()
    loop.add(GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() }, forMode: .default)
    forbid("accept4", code)
    loop.run(for: .milliseconds(200))
    say(passes.value < 20 ? "few passes" : "\(passes.value) passes")
    withExtendedLifetime(remote) {}
}

@Sendable private func sendsInVain(_ code: Int32) throws {
    let port = try GRunLoop.MessagePort(RuntimeDirectory.newName()) { _ in }
    let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
    forbid("memfd_create", code)
    sayError { try remote.send(1, GRunLoop.MessageData([UInt8](repeating: 1, count: 1 << 20))) }
}

@Sendable private func sleepsInVain(_ code: Int32) throws {
    let pipe = Pipe()
    try GRunLoop.current.add(
        GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in say("performed") }, forMode: .default)
    forbid("ppoll", code)
    GRunLoop.current.run(for: .seconds(5), returningAfterSourceHandled: true)
    say("came back")
}

/// GLib's context of a new mode needs an eventfd, and no pipe.
@Sendable private func runsPrivateMode(_ code: Int32) throws {
    forbid("pipe2", code)
    let loop = GRunLoop.current
    loop.add(GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in say("fired") }, forMode: "private")
    say("\(loop.run(mode: "private", for: .seconds(5)))")
}
