// SPDX-License-Identifier: Apache-2.0
// Checks each kind of work of Foundation's main run loop beside each driver of the main thread. The rows run on their
// own thread, and use the main thread.

import CGRunGIO
import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

/// How long something took, from its cause to its effect.
struct Delay {
    var all: [Double] = []

    mutating func add(since start: Double) { all.append(milliseconds() - start) }

    var worst: Double { all.max() ?? .infinity }
    /// The 99th percentile.
    var late: Double { all.isEmpty ? .infinity : all.sorted()[min(all.count - 1, all.count * 99 / 100)] }
}

func milliseconds() -> Double {
    let now = ContinuousClock.now.duration(to: epoch)
    return -Double(now.components.seconds) * 1e3 - Double(now.components.attoseconds) / 1e15
}

private let epoch = ContinuousClock.now

/// Runs `body` on the main thread in a GLib callback, and waits until it reports its result. Returns nil after a
/// timeout.
func onMain<Value: Sendable>(
    within limit: Double = 5, _ body: @escaping @Sendable (@escaping @Sendable (Value) -> Void) -> Void
) -> Value? {
    let result = Mutex<Value?>(nil)
    let ready = DispatchSemaphore(value: 0)
    inGLib {
        body { value in
            result.withLock { $0 = value }
            ready.signal()
        }
    }
    return ready.wait(timeout: .now() + limit) == .success ? result.withLock { $0 } : nil
}

/// Returns the object that a C callback gets as its data.
func object<Object: AnyObject>(_ data: UnsafeMutableRawPointer?, _ type: Object.Type = Object.self) -> Object {
    guard let data else { fatalError("a callback has lost its data") }
    return Unmanaged<Object>.fromOpaque(data).takeUnretainedValue()
}

/// A closure that C code keeps.
final class Body {
    let call: () -> Void
    init(_ call: @escaping () -> Void) { self.call = call }
}

/// Calls `body` once in a GLib callback, like a GTK signal handler, on the thread of the context. Nil means the main
/// context.
func inGLib(of context: OpaquePointer? = nil, after wait: UInt32 = 0, _ body: @escaping @Sendable () -> Void) {
    let source = g_timeout_source_new(wait)
    g_source_set_callback(
        source,
        {
            object($0, Body.self).call()
            return 0
        }, Unmanaged.passRetained(Body(body)).toOpaque(),
        { Unmanaged.passUnretained(object($0, Body.self)).release() })
    g_source_attach(source, context)
    g_source_unref(source)
}

/// The processor time of the main thread.
enum MainThread {
    private static let thread = pthread_self()
    /// The limit in milliseconds for 200 ms without any work.
    static let idleLimit = 20.0

    /// Must be called first on the main thread.
    static func note() { _ = thread }

    static func processorTime() -> Double {
        var (clock, time) = (clockid_t(), timespec())
        guard pthread_getcpuclockid(thread, &clock) == 0, clock_gettime(clock, &time) == 0 else { return .infinity }
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    static func processorTimeOfIdle() -> Double {
        let before = processorTime()
        usleep(200_000)
        return processorTime() - before
    }
}

enum Outcome {
    case holds(String)
    /// The work arrived late. On a busy machine that is not a failure, so the row is tried again.
    case late(String)
    case fails(String)

    init(_ holds: Bool, _ figure: String) { self = holds ? .holds(figure) : .fails(figure) }

    /// The work arrived in time, or only late.
    init(_ isInTime: Bool, orLate comes: Bool, _ figure: String) {
        self = isInTime ? .holds(figure) : comes ? .late(figure) : .fails(figure)
    }

    var figure: String {
        switch self {
        case .holds(let figure), .late(let figure), .fails(let figure): figure
        }
    }

    var holds: Bool { if case .holds = self { true } else { false } }
    var isLate: Bool { if case .late = self { true } else { false } }
}

@main struct Main {
    /// Async for one of the drivers. The other drivers are called before it suspends, and never return.
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "costs" { Costs.run(Array(arguments.dropFirst())) }
        if arguments.first == "perform" {
            let outcome = (0..<5).lazy.map { _ in Costs.perform() }.first { $0.holds } ?? Costs.perform()
            print("perform: \(outcome.figure)")
            exit(outcome.holds ? 0 : 1)
        }
        if arguments.first == "refusal", let refusal = arguments.last.flatMap(Refusal.init) { refusal.check() }
        guard let driver = arguments.first.flatMap(Driver.init) else {
            print("usage: grun-foundation-check \(Driver.allCases.map(\.rawValue).joined(separator: "|")) [ROW…]")
            print("       grun-foundation-check refusal \(Refusal.allCases.map(\.rawValue).joined(separator: "|"))")
            exit(2)
        }
        MainThread.note()
        let drive = driver.prepare()
        let wanted = Set(arguments.dropFirst())
        let isIdle = wanted == ["idle"]
        CFRunLoopAddCommonMode(CFRunLoopGetMain(), Rows.name(of: Rows.earlyMode))
        let serving: GRunLoop.Serving
        do { serving = try GRunLoop.main.serve(RunLoop.main) } catch { fail("\(error)") }
        Foundation.Thread {
            if isIdle { beIdle() }
            let all = Rows.all + Rows.ofOthers + Rows.ofRuns + Rows.ofDriving
            let rows = all.filter { wanted.isEmpty || wanted.contains($0.name) }
            var failed = ProcessInfo.processInfo.environment["FAILED"].flatMap { Int($0) } ?? 0
            for (index, row) in rows.enumerated() {
                let isLost = check(row, by: driver, failed: &failed)
                let rest = rows[(index + 1)...].map(\.name)
                if isLost, !rest.isEmpty { goOn(with: rest, by: driver, failed: failed) }
            }
            print("\(driver.rawValue): \(failed) failed")
            withExtendedLifetime(serving) { exit(failed == 0 ? 0 : 1) }
        }.start()
        drive?()
        // From here on, the driver of an async main drives. The rows end the process.
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }

    /// Returns whether the main thread hangs or spins, so that it is useless for further rows.
    private static func check(_ row: Row, by driver: Driver, failed: inout Int) -> Bool {
        var outcome = row.check()
        for _ in 0..<4 where outcome.isLate { outcome = row.check() }
        if outcome.isLate, Rows.isMachineBusy() { outcome = .holds(outcome.figure + ", on a busy machine") }
        let hangs = onMain { done in done(true) } == nil
        // A late result would hide that the loop spins.
        let used = hangs ? 0 : MainThread.processorTimeOfIdle()
        let spins = used > MainThread.idleLimit
        if spins { outcome = .fails(outcome.figure + String(format: "; then it spins, %.0f ms of idle 200", used)) }
        if hangs { outcome = .fails(outcome.figure + "; then the main thread hangs") }
        // Beside other drivers a late row is tried again alone, where late is a failure.
        let isLate = outcome.isLate && ProcessInfo.processInfo.environment["ALONE"] == nil
        if !outcome.holds, !isLate { failed += 1 }
        let mark = outcome.holds ? "ok    " : isLate ? "late  " : "FAILED"
        print("  \(mark) \(driver.rawValue): \(row.name): \(outcome.figure)")
        fflush(nil)
        return hangs || spins
    }

    /// Replaces this process by a new one for the remaining rows.
    private static func goOn(with rows: [String], by driver: Driver, failed: Int) {
        setenv("FAILED", "\(failed)", 1)
        let arguments = [CommandLine.arguments[0], driver.rawValue] + rows
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", &words)
        fail("no new process")
    }

    /// Waits with a timer an hour away, after everything was in use. For `strace`.
    private static func beIdle() -> Never {
        _ = Rows.perform()
        let _: Bool? = onMain { done in
            _ = Foundation.Timer.scheduledTimer(withTimeInterval: 3600, repeats: false) { _ in }
            done(true)
        }
        print("ready")
        fflush(nil)
        while true { sleep(1000) }
    }
}

func fail(_ why: String) -> Never {
    FileHandle.standardError.write(Data("grun-foundation-check: \(why)\n".utf8))
    exit(2)
}
