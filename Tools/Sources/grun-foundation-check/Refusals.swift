// SPDX-License-Identifier: Apache-2.0
// Cases in which Foundation's loop cannot be served, each in its own process, on its main thread. After a refusal the
// descriptors must be as before.

import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

enum Refusal: String, CaseIterable {
    /// The process ends, with a message.
    case wrongThread = "wrong-thread"
    /// The process ends, with a message.
    case foreignLoop = "foreign-loop"
    case forked
    case environment
    case noDescriptors = "no-descriptors"
    /// A mode is common in GRunLoop and unknown to Core Foundation, which ends the process if it cannot make the mode.
    case noDescriptorsForMode = "no-descriptors-for-mode"
    case noProc = "no-proc"

    /// Ends the process.
    func check() -> Never {
        if self == .noProc, !hideProc() {
            print("  -       refusal: \(rawValue): not tried, no namespace of mounts may be made here")
            exit(0)
        }
        // Makes the descriptors that both loops have in any case.
        _ = (GRunLoop.main, RunLoop.main)
        let outcome =
            switch self {
            case .wrongThread: ends { () throws(GRunLoop.SystemError) in try GRunLoop.main.serve(.main) }
            case .foreignLoop: ends { () throws(GRunLoop.SystemError) in try GRunLoop.current.serve(.main) }
            case .forked: forked()
            case .environment: environment()
            case .noDescriptors: noDescriptors(with: nil)
            case .noDescriptorsForMode: noDescriptors(with: "of a refusal")
            case .noProc: noProc()
            }
        print("\(outcome.holds ? "  ok    " : "  FAILED") refusal: \(rawValue): \(outcome.figure)")
        fflush(nil)
        exit(outcome.holds ? 0 : 1)
    }

    /// Returns the thrown error, if the descriptors and Core Foundation's modes of this thread are as before.
    private func refused(by serve: () throws(GRunLoop.SystemError) -> GRunLoop.Serving) -> Refused {
        // This creates Core Foundation's loop of the thread, which has descriptors.
        let modes = modeCount()
        let before = (openDescriptors(), modes)
        do {
            try serve().cancel()
            return .served
        } catch {
            let after = (openDescriptors(), modeCount())
            return before == after ? .with(error) : .leaving(error, "\(before) and then \(after)")
        }
    }

    private func modeCount() -> Int { CFArrayGetCount(CFRunLoopCopyAllModes(CFRunLoopGetCurrent())) }

    private enum Refused: Equatable, CustomStringConvertible {
        case served
        case with(GRunLoop.SystemError)
        case leaving(GRunLoop.SystemError, String)

        var description: String {
            switch self {
            case .served: "served"
            case .with(let error): "'\(error)'"
            case .leaving(let error, let change): "'\(error)', with descriptors and modes \(change)"
            }
        }
    }

    /// Whether the main thread's loop is served, and a block arrives.
    private func isServed() -> Bool {
        guard let serving = try? GRunLoop.main.serve(RunLoop.main) else { return false }
        defer { serving.cancel() }
        nonisolated(unsafe) var arrived = false
        RunLoop.main.perform { arrived = true }
        let end = milliseconds() + 1000
        while !arrived, milliseconds() < end { GRunLoop.main.run(for: .milliseconds(10)) }
        return arrived
    }

    /// A run loop of another thread is a misuse, which ends the process.
    private func ends(serving serve: () throws(GRunLoop.SystemError) -> GRunLoop.Serving) -> Outcome {
        .fails("\(onThread { refused(by: serve) })")
    }

    private func environment() -> Outcome {
        setenv("GRUN_NO_FOUNDATION", "1", 1)
        let outcome = refused { () throws(GRunLoop.SystemError) in try GRunLoop.main.serve(.main) }
        unsetenv("GRUN_NO_FOUNDATION")
        return Outcome(isUnsupported(outcome) && isServed(), "\(outcome)")
    }

    private func isUnsupported(_ outcome: Refused) -> Bool {
        if case .with(.unsupported(let text)) = outcome { text.contains("GRUN_NO_FOUNDATION") } else { false }
    }

    /// Checks the forked child of a process that served earlier, of one that serves, and of one that never served.
    private func forked() -> Outcome {
        func status() -> Int32 {
            inChild { refused { () throws(GRunLoop.SystemError) in try GRunLoop.main.serve(.main) } == .with(.forked) }
        }
        var statuses = [status()]
        let serving = try? GRunLoop.main.serve(RunLoop.main)
        statuses.append(status())
        serving?.cancel()
        statuses.append(status())
        return Outcome(
            serving != nil && statuses == [0, 0, 0] && isServed(), "children that never served, did, had: \(statuses)")
    }

    /// Allows one more descriptor each time until the loop is served. Each try uses its own thread, so that the loops
    /// are new.
    private func noDescriptors(with mode: GRunLoop.Mode?) -> Outcome {
        guard isServed() else { return .fails("not served at all") }
        var (before, said, holds) = (openDescriptors(), [String](), true)
        for free in 0..<24 {
            let (refusal, later) = onThread {
                // Creates the default mode. GRunLoop's common modes must become common in Core Foundation, unless
                // refused.
                RunLoop.current.perform {}
                CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
                if let mode { try? GRunLoop.current.addCommonMode(mode) }
                let refusal = withDescriptors(free) {
                    refused { () throws(GRunLoop.SystemError) in try GRunLoop.current.serve(.current) }
                }
                return (refusal, refused { () throws(GRunLoop.SystemError) in try GRunLoop.current.serve(.current) })
            }
            // A thread's loops may outlive the thread a little.
            let end = milliseconds() + 1000
            while openDescriptors() != before, milliseconds() < end { usleep(1000) }
            let after = openDescriptors()
            if after != before { said.append("\(free) free left \(before) and then \(after)") }
            if later != .served { said.append("\(free) free, and not served after it: \(later)") }
            if refusal != .served, refusal != .with(.limitReached(errno: EMFILE)) {
                said.append("\(free) free: \(refusal)")
            }
            holds = said.isEmpty
            before = after
            if refusal == .served {
                return Outcome(holds && free > 0, (["served with \(free) free"] + said).joined(separator: "; "))
            }
        }
        return .fails((["never served"] + said).joined(separator: "; "))
    }

    private func noProc() -> Outcome {
        let refusal = refused { () throws(GRunLoop.SystemError) in try GRunLoop.main.serve(.main) }
        if case .with(let error) = refusal { return .holds("refused: \(error)") }
        return Outcome(refusal == .served && isServed(), refusal == .served ? "served" : "\(refusal)")
    }
}

/// Hides /proc, if that is allowed: in a separate namespace, while the process has one thread.
private func hideProc() -> Bool {
    guard let symbol = dlsym(nil, "unshare") else { return false }
    let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    let (ofMounts, ofUsers) = (Int32(0x0002_0000), Int32(0x1000_0000))
    guard unshare(ofMounts) == 0 || unshare(ofMounts | ofUsers) == 0 else { return false }
    let (recursive, isPrivate) = (UInt(1 << 14), UInt(1 << 18))
    return mount("none", "/", nil, recursive | isPrivate, nil) == 0
        && mount("none", "/proc", "tmpfs", 0, nil) == 0 && access("/proc/self/fd", F_OK) != 0
}

/// Returns the open descriptors without opening one.
func openDescriptors() -> [Int32] { (0..<1024).filter { fcntl($0, F_GETFD) >= 0 } }

/// Returns the result of `body` on a new thread, which has ended by then.
func onThread<Value>(_ body: () -> Value) -> Value {
    withoutActuallyEscaping(body) { body in
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var value: Value?
        var thread = pthread_t()
        let call = Body { value = body() }
        pthread_create(
            &thread, nil,
            {
                object($0, Body.self).call()
                return nil
            }, Unmanaged.passUnretained(call).toOpaque())
        pthread_join(thread, nil)
        guard let value else { fail("a thread has not run") }
        return value
    }
}

/// Returns the exit status of a forked child: 0 if `body` returns true in the child.
func inChild(_ body: () -> Bool) -> Int32 {
    // Swift does not import fork(2), because a child has only one thread.
    guard let symbol = dlsym(nil, "fork") else { fail("no fork") }
    fflush(nil)
    let child = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
    if child == 0 {
        // The kernel ends a child that hangs.
        alarm(5)
        _exit(body() ? 0 : 1)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status
}

/// Returns the result of `body` while only this many descriptors can be opened.
private func withDescriptors<Value>(_ free: Int, _ body: () -> Value) -> Value {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var lower = limit
    lower.rlim_cur = rlim_t((openDescriptors().last ?? 2) + 32)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lower)
    var fillers: [Int32] = []
    while true {
        let filler = dup(0)
        if filler < 0 { break }
        fillers.append(filler)
    }
    for filler in fillers.suffix(free) { close(filler) }
    let value = body()
    for filler in fillers.dropLast(free) { close(filler) }
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return value
}
