// SPDX-License-Identifier: Apache-2.0
// The daemon's child.

import GRunLoop
import Glibc

/// Keeps a child alive. It restarts a child that has ended, after a delay that grows as long as children end soon.
@MainActor final class Supervisor {
    /// The next step of the daemon after the child has ended.
    private enum Next {
        case later, atOnce, nothing
    }

    private(set) var startedChildren = 0
    private let loop: GRunLoop
    /// The modes in which the supervisor waits for the child's end.
    private let modes: [GRunLoop.Mode]
    private var configuration: Configuration
    private var delay: Int
    private var next = Next.later
    /// Waits for the end of the child; nil if there is none.
    private var child: GRunLoop.ChildSource?
    /// Reads the child's output; nil after its end.
    private var output: ChildOutput?
    /// How the child has ended, while its output is read to the end.
    private var report: String?
    private var lifetime = 0
    private var startDate = GRunLoop.now
    /// Starts the next child.
    private var restart: GRunLoop.Timer?
    /// Kills a child that does not end by itself.
    private var kill: GRunLoop.Timer?
    /// Closes an output that does not end after its child.
    private var cut: GRunLoop.Timer?

    init(on loop: GRunLoop, inModes modes: [GRunLoop.Mode], _ configuration: Configuration) {
        self.loop = loop
        self.modes = modes
        self.configuration = configuration
        delay = configuration.firstDelay
    }

    /// Starts the child.
    func start() {
        restart?.invalidate()
        restart = nil
        next = .later
        guard let program = configuration.child.first else { return }
        startDate = GRunLoop.now
        do {
            let output = try ChildOutput()
            do {
                let pid = try spawn(configuration.child, printingTo: output.writeEnd)
                output.closeWriteEnd()
                try watchOrKill(pid, output)
                say("child \(pid): started")
            } catch {
                output.close()
                throw error
            }
            startedChildren += 1
        } catch {
            startLater("child \(program): \(error)")
        }
    }

    private func watchOrKill(_ pid: pid_t, _ output: ChildOutput) throws {
        do {
            try watch(pid, output)
        } catch {
            // No source would report the end of this child.
            Glibc.kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw error
        }
    }

    /// A different command ends the child, and the next one follows immediately. New delays apply from the next end on.
    func apply(_ configuration: Configuration) {
        let isOther = configuration.child != self.configuration.child
        self.configuration = configuration
        delay = max(configuration.firstDelay, min(delay, configuration.longestDelay))
        guard isOther else { return }
        delay = configuration.firstDelay
        if child == nil, output == nil {
            start()
        } else {
            next = configuration.child.isEmpty ? .nothing : .atOnce
            endChild()
        }
    }

    /// Ends the child. When no mode contains items of the supervisor any more, the child was reaped.
    func stop() {
        next = .nothing
        restart?.invalidate()
        endChild()
    }

    private func spawn(_ command: [String], printingTo descriptor: Int32) throws(StartError) -> pid_t {
        var arguments = command.map { (word: String) in strdup(word) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, descriptor, STDOUT_FILENO)
        var pid = pid_t()
        let error = posix_spawnp(&pid, command[0], &actions, nil, &arguments, environ)
        if error != 0 { throw StartError(errno: error) }
        return pid
    }

    private func watch(_ pid: pid_t, _ output: ChildOutput) throws {
        let source = try GRunLoop.ChildSource(pid: pid) { @MainActor source, outcome in
            self.childHasEnded(source.pid, outcome)
        }
        do {
            for mode in modes { try loop.add(source, forMode: mode) }
            try output.read(
                on: loop, inModes: modes, say: { say("child \(pid): says \($0)") }, end: { self.outputHasEnded() })
        } catch {
            source.invalidate()
            throw error
        }
        child = source
        self.output = output
    }

    /// The end of the child and the end of its output are two events in any order: output may remain in the pipe after
    /// the child's end, and a child may close its output and go on. The next step needs both.
    private func childHasEnded(_ pid: pid_t, _ outcome: GRunLoop.ChildSource.Outcome) {
        child = nil
        kill?.invalidate()
        kill = nil
        lifetime = Int((GRunLoop.now - startDate) / .milliseconds(1))
        let how =
            switch outcome {
            case .success(let status): "\(status)"
            case .failure(let error): "\(error)"
            }
        report = "child \(pid): \(how), after \(lifetime) ms"
        if output == nil { return goOn() }
        // Another process that the child has started may hold the output as well.
        let patience = configuration.patience
        let timer = GRunLoop.Timer(interval: .milliseconds(patience), repeats: false) { @MainActor _ in
            say("child \(pid): its output has not ended within \(patience) ms, and is closed")
            self.output?.close()
            self.outputHasEnded()
        }
        for mode in modes { loop.add(timer, forMode: mode) }
        cut = timer
    }

    private func outputHasEnded() {
        output = nil
        if child == nil { goOn() }
    }

    /// The child has ended, and so has its output.
    private func goOn() {
        cut?.invalidate()
        cut = nil
        guard let what = report else { return }
        report = nil
        switch next {
        case .nothing: say(what)
        case .atOnce:
            say("\(what); next at once")
            start()
        case .later:
            if lifetime >= configuration.longestDelay { delay = configuration.firstDelay }
            startLater(what)
        }
    }

    private func startLater(_ reason: String) {
        say("\(reason); next in \(delay) ms")
        let timer = GRunLoop.Timer(interval: .milliseconds(delay), repeats: false) { @MainActor _ in self.start() }
        loop.add(timer, forMode: .default)
        restart = timer
        delay = min(2 * delay, configuration.longestDelay)
    }

    private func endChild() {
        guard let child else { return }
        // Only this thread reaps the child, so the number still belongs to it.
        Glibc.kill(child.pid, SIGTERM)
        let patience = configuration.patience
        kill?.invalidate()
        let timer = GRunLoop.Timer(interval: .milliseconds(patience), repeats: false) { @MainActor _ in
            guard let child = self.child else { return }
            say("child \(child.pid): has not ended within \(patience) ms, and is killed")
            Glibc.kill(child.pid, SIGKILL)
        }
        for mode in modes { loop.add(timer, forMode: mode) }
        kill = timer
    }
}

struct StartError: Error, CustomStringConvertible {
    let errno: Int32
    var description: String { String(cString: strerror(errno)) }
}
