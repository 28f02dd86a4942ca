// SPDX-License-Identifier: Apache-2.0
// Scenarios about children that change state of the whole process: its descriptors, SIGCHLD, a sandbox.

import GRunLoop
import Glibc
import TestSupport

let childScenarios: [String: @Sendable () throws -> Void] = [
    "children-many": { try childrenMany(inARow: 2000) },
    "children-10000": { try childrenMany(inARow: 10_000) },
    "children-discarded": childrenDiscarded,
    "children-without-descriptors": childrenWithoutDescriptors,
    "children-sandboxed-ENOSYS": { try childrenSandboxed(ENOSYS) },
    "children-sandboxed-EPERM": { try childrenSandboxed(EPERM) },
    "children-debugged": childrenDebugged,
]

/// This mode is finished when no child is left in it, even in the main loop, whose common modes are never finished.
private let mode: GRunLoop.Mode = "children"

private func run(_ loop: GRunLoop) { loop.run(mode: mode, for: .seconds(60)) }

private func childrenMany(inARow count: Int) throws {
    let loop = GRunLoop.current
    // Makes the mode's epoll, which is then kept.
    try loop.add(GRunLoop.ChildSource(pid: fork { 0 }) { _, _ in }, forMode: mode)
    run(loop)
    let before = openDescriptorCount()

    let wrong = Shared(0)
    let told = Shared(0)
    func watch(_ code: Int32) throws {
        let source = try GRunLoop.ChildSource(pid: fork { code }) { _, outcome in
            told.value += 1
            if (try? outcome.get()) != .exited(code: code) { wrong.value += 1 }
        }
        try loop.add(source, forMode: mode)
    }
    for number in 0..<500 { try watch(Int32(number % 256)) }
    run(loop)
    func verdict(of count: Int) -> String {
        wrong.value == 0 && told.value == count ? "all right" : "\(told.value) told, \(wrong.value) wrong"
    }
    say("500 at once: \(verdict(of: 500))")

    told.value = 0
    for number in 0..<count {
        try watch(Int32(number % 256))
        run(loop)
    }
    say("\(count) in a row: \(verdict(of: count))")
    let left = openDescriptorCount() - before
    say(left == 0 ? "no descriptor left" : "\(left) descriptors left")
    var status: Int32 = 0
    say(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD ? "no child left" : "a child is left")
}

private func word(of pid: pid_t) -> String {
    do throws(GRunLoop.SystemError) {
        _ = try GRunLoop.ChildSource(pid: pid) { _, _ in }
        return "none"
    } catch {
        return switch error {
        case .statusLost: "lost"
        case .notAChild: "stranger"
        default: "\(error)"
        }
    }
}

private func childrenDiscarded() throws {
    let running = startSleeper()
    let early = fork { 5 }
    usleep(20_000)
    for (name, flags) in [("ignored", 0), ("SA_NOCLDWAIT", SA_NOCLDWAIT)] {
        var action = sigaction()
        if flags == 0 { action.__sigaction_handler.sa_handler = SIG_IGN }
        action.sa_flags = Int32(flags)
        sigaction(SIGCHLD, &action, nil)
        let gone = fork { 0 }
        while exists(gone) { usleep(300) }
        say("\(name): \(word(of: running)), \(word(of: gone)), \(word(of: getppid()))")
    }
    // SIGCHLD is ignored while a source waits.
    signal(SIGCHLD, SIG_DFL)
    let loop = GRunLoop.current
    let source = try GRunLoop.ChildSource(pid: running) { _, outcome in
        if case .failure(.statusLost) = outcome { say("later: lost") } else { say("later: \(outcome)") }
    }
    try loop.add(source, forMode: mode)
    signal(SIGCHLD, SIG_IGN)
    kill(running, SIGKILL)
    run(loop)
    // A child that has ended before is not reaped, and its status can still be read.
    try loop.add(
        GRunLoop.ChildSource(pid: early) { _, outcome in say("before: \((try? outcome.get())?.code ?? -1)") },
        forMode: mode)
    run(loop)
}

private func childrenWithoutDescriptors() throws {
    let loop = GRunLoop.current
    let child = fork { 6 }
    let opened = useUpDescriptors()
    do throws(GRunLoop.SystemError) {
        _ = try GRunLoop.ChildSource(pid: child) { _, _ in }
    } catch {
        if case .limitReached = error { say("limitReached") } else { say("\(error)") }
    }
    for descriptor in opened.prefix(10) { close(descriptor) }
    try loop.add(GRunLoop.ChildSource(pid: child) { say("\((try? $1.get())?.description ?? "lost")") }, forMode: mode)
    run(loop)
}

private func childrenSandboxed(_ code: Int32) throws {
    forbidSystemCall(434, error: code)
    let child = fork { 2 }
    do throws(GRunLoop.SystemError) {
        _ = try GRunLoop.ChildSource(pid: child) { _, _ in }
        say("opened")
    } catch {
        let isUnsupported = if case .forbidden(_, code) = error { true } else { false }
        let remedy = error.description.contains("g_child_watch_add") ? "g_child_watch_add" : error.description
        say("\(isUnsupported ? "unsupported" : "\(error)"): \(remedy)")
    }
    say("reaped: \(reap(child))")
}

/// A child ends while another process debugs it. It cannot be reaped before the debugger has seen its end.
private func childrenDebugged() throws {
    try withDebuggedChild { child, letGo in
        let loop = GRunLoop.current
        let passes = Shared(0)
        let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.value += 1 }
        let source = try GRunLoop.ChildSource(pid: child) { _, outcome in say((try? "\(outcome.get())") ?? "lost") }
        loop.add(observer, forMode: mode)
        try loop.add(source, forMode: mode)
        loop.run(mode: mode, for: .milliseconds(300))
        say(passes.value < 50 ? "few passes" : "\(passes.value) passes")
        letGo()
        run(loop)
    }
    try withDebuggedChild { child, letGo in
        let worker = try GRunLoop.Thread(name: "awaits")
        let passes = Shared(0)
        let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.value += 1 }
        worker.loop.add(observer, forMode: .default)
        let isOver = Flag()
        Task {
            let status = try? await worker.loop.waitForExit(of: child)
            say("awaited: " + (status.map { "\($0)" } ?? "lost"))
            isOver.set()
        }
        usleep(300_000)
        say(passes.value < 50 ? "few passes" : "\(passes.value) passes")
        letGo()
        _ = isOver.wait()
        worker.stop()
        worker.join()
    }
}

private func withDebuggedChild(_ body: (pid_t, () -> Void) throws -> Void) throws {
    typealias Call = @convention(c) (Int, Int, Int, Int, Int) -> Int
    func look(_ name: String) -> Call { unsafeBitCast(dlsym(nil, name), to: Call.self) }
    let (prctl, ptrace) = (look("prctl"), look("ptrace"))
    let (isHeld, mayLetGo) = (Pipe(), Pipe())
    let child = fork {
        // PR_SET_PTRACER lets any process debug this one, where otherwise only a parent may.
        _ = prctl(0x5961_6D61, -1, 0, 0, 0)
        while true { pause() }
    }
    let debugger = fork {
        // PTRACE_SEIZE, once the child allows it.
        for _ in 0..<2000 where ptrace(0x4206, Int(child), 0, 0, 0) == 0 {
            isHeld.send()
            while mayLetGo.drain().isEmpty { usleep(1000) }
            return 0
        }
        return 1
    }
    for _ in 0..<5000 where isHeld.drain().isEmpty { usleep(1000) }
    kill(child, SIGKILL)
    var info = siginfo_t()
    usleep(50_000)
    let isNotReapable = waitid(P_PID, id_t(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == 0
    say(isNotReapable ? "held" : "there is no debugging here")
    try body(child) {
        mayLetGo.send()
        reap(debugger)
    }
}
