// SPDX-License-Identifier: Apache-2.0
// Makes every public call in a forked child, while another thread of the parent held the loop's lock.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import GRunLoopMessagePorts
import Glibc
import Synchronization
import TestSupport

/// Forks a child for each call. Reports calls that hang or return a wrong result.
func forkedWhileLocked() {
    let scene = ForkScene()
    for call in scene.calls {
        let outcome = inChild(call)
        if outcome != "ok" { say("\(call.name): \(outcome)") }
    }
    say("\(scene.calls.count) calls")
    exit(0)
}

/// A thread ends in the child, and releases the objects that it was the last to hold.
func forkedThreadEnds() {
    onPlainThread {
        let child: pid_t
        do {
            var scene: ForkScene? = ForkScene()
            child = fork()
            if child == 0 {
                alarm(20)
                if let channel = scene?.channel { Unmanaged.passUnretained(channel).release() }
                scene = nil
                say("let go")
                pthread_exit(nil)
            }
            withExtendedLifetime(scene) {}
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        say(status == 0 ? "ended" : "ended with \(status)")
        exit(0)
    }
}

/// A job and the cancel closures of two sources fork while their loop ends. The three children go on to the end of the
/// thread.
func forkedWhileLoopEnds() {
    let parent = getpid()
    let children = Shared<[pid_t]>([])
    let forkOnce: @Sendable () -> Void = {
        guard getpid() == parent else { return }
        let child = fork()
        if child == 0 { alarm(20) } else { children.update { $0.append(child) } }
    }
    let note: @Sendable (String) -> Void = { say(getpid() == parent ? $0 : "\($0) in a child") }
    onPlainThread {
        let loop = GRunLoop.current
        let witness = Witness { note("released") }
        loop.perform(after: .seconds(60)) { withExtendedLifetime(witness) {} }
        let target = Witness { note("target released") }
        loop.perform(after: .seconds(60), target: target) {}
        for order in 0..<2 {
            let cancel: @Sendable (GRunLoop, GRunLoop.Mode) -> Void = { _, _ in
                note("cancelled")
                forkOnce()
            }
            loop.add(GRunLoop.Source(order: order, cancel: cancel) {}, forMode: .default)
        }
        Task(executorPreference: loop.executor) { forkOnce() }
    }
    for child in children.value {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        say("a child ended with \(status)")
    }
    exit(0)
}

/// Prints the names of the calls, one per line. A test compares them with the public declarations.
func forkedCalls() {
    let scene = ForkScene()
    for call in scene.calls { say(call.name) }
    exit(0)
}

/// A call of a public function, with the function's file and name.
struct ForkedCall {
    let name: String
    /// Whether the call must report that it can do nothing.
    let isSaid: Bool
    /// Returns whether the call has returned the right result.
    let body: () throws -> Bool
}

private func inChild(_ call: ForkedCall) -> String {
    let messages = Pipe()
    let child = fork()
    if child == 0 {
        signal(SIGALRM, SIG_DFL)
        alarm(20)
        dup2(messages.writeEnd, STDERR_FILENO)
        let isRight = (try? call.body()) ?? false
        _exit(isRight ? 0 : 1)
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let text = messages.drain()
    if status & 0x7f != 0 { return status & 0x7f == SIGALRM ? "hangs" : "ends by signal \(status & 0x7f): \(text)" }
    if status != 0 { return "answers something else: \(text)" }
    let isSaid = text.contains("this process was forked and did not exec()")
    return isSaid == call.isSaid ? "ok" : isSaid ? "is not silent: \(text)" : "does not say why nothing happens"
}

/// Swift does not import fork(2).
private let fork: @Sendable () -> pid_t = {
    let symbol = dlsym(nil, "fork")
    precondition(symbol != nil, "no fork")
    let function = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
    return { function() }
}()

// MARK: The thread that holds the lock

/// Replaces libc's function, which the loop calls with its lock held. Adding the one descriptor blocks forever.
@c(epoll_ctl)
func parkingEpollControl(
    _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ event: UnsafeMutableRawPointer?
) -> Int32 {
    if descriptor == Parking.descriptor.load(ordering: .relaxed) {
        Parking.parked.set()
        while true { pause() }
    }
    return Parking.control(epoll, operation, descriptor, event)
}

private enum Parking {
    typealias Control = @convention(c) (Int32, Int32, Int32, UnsafeMutableRawPointer?) -> Int32

    static let descriptor = Atomic<Int32>(-1)
    static let parked = Flag()
    static let control: Control = {
        // Finds the next definition after the program's own: RTLD_NEXT.
        let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "epoll_ctl")
        precondition(symbol != nil, "no epoll_ctl")
        return unsafeBitCast(symbol, to: Control.self)
    }()

    /// Makes another thread hold the loop's lock from now on.
    static func lock(_ loop: GRunLoop, with descriptor: Int32) {
        self.descriptor.store(descriptor, ordering: .relaxed)
        let source = GRunLoop.DescriptorSource(descriptor: descriptor) { _, _ in }
        pthread_detach(startThread { try? loop.add(source, forMode: .default) })
        precondition(parked.wait(), "nobody has parked")
    }
}

/// A loop with all kinds of items, whose lock another thread holds.
struct ForkScene {
    let loop = GRunLoop.current
    let pipe = Pipe()
    let mode: GRunLoop.Mode = "another"
    let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: true, tolerance: .seconds(1)) { _ in }
    let source = GRunLoop.Source {}
    let channel = GRunLoop.Channel<Int>()
    let observer = GRunLoop.Observer(activities: .exit) { _, _ in }
    let idleQueue = GRunLoop.IdleQueue()
    let port = GRunLoop.Port()
    let messagePort: GRunLoop.MessagePort
    let remotePort: GRunLoop.RemoteMessagePort
    let reply = Shared<GRunLoop.MessagePort.Reply?>(nil)
    let notifications: GRunLoop.NotificationQueue<String, Void>
    let observation: GRunLoop.Observation
    let descriptor: GRunLoop.DescriptorSource
    let signal = try? GRunLoop.SignalSource(SIGUSR2) { _, _ in }
    let child = try? GRunLoop.ChildSource(pid: TestSupport.fork { 0 }) { _, _ in }
    let trace = GRunLoop.Trace()
    let timeline = GRunLoop.Timeline()
    let thread: GRunLoop.Thread?
    let monitor: GRunLoop.StallMonitor?
    let executor: GRunLoop.Executor
    let isolation: GRunLoop.Isolation
    let ending: GRunLoop.EndHandler?
    let delayed: GRunLoop.DelayedPerform
    let ambient: GRunLoop.PushedMode?
    let context: OpaquePointer

    init() {
        let name = RuntimeDirectory.newName()
        do {
            messagePort = try GRunLoop.MessagePort(name) { [reply] message in reply.value = message.reply }
            remotePort = try GRunLoop.RemoteMessagePort.lookUp(name)
        } catch { fatalError("\(error)") }
        descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
        notifications = .init(on: loop)
        observation = notifications.observe { _ in }
        thread = try? GRunLoop.Thread(name: "other")
        monitor = try? GRunLoop.StallMonitor(loop, threshold: .seconds(3600))
        executor = loop.executor
        isolation = loop.isolation
        ending = try? loop.addEndHandler {}
        delayed = loop.perform(after: .seconds(3600)) {}
        ambient = try? loop.push(ambientMode: mode)
        context = g_main_context_new()
        loop.startTracing(trace)
        loop.add(timer, forMode: .default)
        loop.add(source, forMode: .common)
        channel.receive(on: loop) { _ in }
        // Releasing the channel takes the loop's lock, so the parent must not release it.
        _ = Unmanaged.passRetained(channel)
        loop.add(observer, forMode: .default)
        loop.add(idleQueue, forMode: .default)
        _ = port.trySend(GRunLoop.PortMessage(replyPort: port))
        loop.add(port, forMode: "never run")
        notifications.enqueue(.init(name: "a"), style: .whenIdle)
        try? loop.add(descriptor, forMode: .default)
        try? loop.add(messagePort, forMode: .default)
        // No reply comes. Only the child tries to reply.
        while reply.value == nil {
            _ = try? remotePort.request(1, sendTimeout: .zero, receiveTimeout: .milliseconds(1))
        }
        source.signal()
        Parking.lock(loop, with: pipe.writeEnd)
    }
}
