// SPDX-License-Identifier: Apache-2.0
// The daemon's child.

import GRunLoop
import Glibc

/// Keeps a child alive: one that ends is started again, after a delay that grows as long as children end soon.
@MainActor final class Supervisor {
    /// What follows the end of the child.
    private enum Next {
        case later, atOnce, nothing
    }

    private(set) var startedChildren = 0
    private let loop: GRunLoop
    /// Where the end of the child is waited for.
    private let modes: [GRunLoop.Mode]
    private var configuration: Configuration
    private var delay: Int
    private var next = Next.later
    /// Waits for the end of the child; nil if there is none.
    private var child: GRunLoop.ChildSource?
    private var startDate = GRunLoop.now
    /// Starts the next child.
    private var restart: GRunLoop.Timer?
    /// Kills a child that does not end by itself.
    private var kill: GRunLoop.Timer?

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
            let pid = try spawn(configuration.child)
            do {
                try watch(pid)
            } catch {
                // Nobody would learn of its end.
                Glibc.kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
                throw error
            }
            startedChildren += 1
            say("child \(pid): started")
        } catch {
            startLater("child \(program): \(error)")
        }
    }

    /// Another command ends the child, and the next follows at once; other delays hold from the next end on.
    func apply(_ configuration: Configuration) {
        let isOther = configuration.child != self.configuration.child
        self.configuration = configuration
        delay = max(configuration.firstDelay, min(delay, configuration.longestDelay))
        guard isOther else { return }
        delay = configuration.firstDelay
        if child == nil {
            start()
        } else {
            next = configuration.child.isEmpty ? .nothing : .atOnce
            endChild()
        }
    }

    /// Ends the child: when no mode has anything of the supervisor's any more, it was reaped.
    func stop() {
        next = .nothing
        restart?.invalidate()
        endChild()
    }

    private func spawn(_ command: [String]) throws(StartError) -> pid_t {
        var arguments = command.map { (word: String) in strdup(word) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        let error = posix_spawnp(&pid, command[0], nil, nil, &arguments, environ)
        if error != 0 { throw StartError(errno: error) }
        return pid
    }

    private func watch(_ pid: pid_t) throws {
        let source = try GRunLoop.ChildSource(pid: pid) { @MainActor source, outcome in
            self.childHasEnded(source.pid, outcome)
        }
        child = source
        do {
            for mode in modes { try loop.add(source, forMode: mode) }
        } catch {
            source.invalidate()
            child = nil
            throw error
        }
    }

    private func childHasEnded(_ pid: pid_t, _ outcome: GRunLoop.ChildSource.Outcome) {
        child = nil
        kill?.invalidate()
        kill = nil
        let lifetime = Int((GRunLoop.now - startDate) / .milliseconds(1))
        let how =
            switch outcome {
            case .success(let status): "\(status)"
            case .failure(let error): "\(error)"
            }
        let what = "child \(pid): \(how), after \(lifetime) ms"
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
        // Only this thread reaps it, so the number is still the child's.
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

private struct StartError: Error, CustomStringConvertible {
    let errno: Int32
    var description: String { String(cString: strerror(errno)) }
}
