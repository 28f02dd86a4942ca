// SPDX-License-Identifier: Apache-2.0
// A signal handler runs without a listener, while another thread makes a source.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

let signalRaceScenarios: [String: @Sendable () throws -> Void] = [
    "signals-made-before-the-handler-looks": { try makeSource(whileHandlerIsIn: .mask) },
    "signals-made-while-the-handler-restores": { try makeSource(whileHandlerIsIn: .disposition) },
]

/// The calls that a handler without a listener makes, one after the other.
private enum Call: Int {
    case none, mask, disposition
}

/// Holds the handler's thread in the first call of a kind. A signal handler may use atomics only.
private enum HandlerHold {
    typealias Mask = @convention(c) (Int32, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int32
    typealias Disposition = @convention(c) (Int32, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int32

    static let thread = Atomic<Int32>(0)
    static let call = Atomic<Int>(0)
    static let isHeld = Atomic<Bool>(false)
    static let isReleased = Atomic<Bool>(false)

    static let mask = next("pthread_sigmask", as: Mask.self)
    static let disposition = next("sigaction", as: Disposition.self)

    /// Returns the function that the program's own function replaces.
    private static func next<Function>(_ name: String, as type: Function.Type) -> Function {
        // RTLD_NEXT
        let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: -1), name)
        precondition(symbol != nil, "no \(name)")
        return unsafeBitCast(symbol, to: Function.self)
    }

    static func pass(_ call: Call) {
        guard self.call.load(ordering: .relaxed) == call.rawValue,
            thread.load(ordering: .relaxed) == threadID, !isHeld.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        while !isReleased.load(ordering: .sequentiallyConsistent) { sched_yield() }
    }
}

@c(pthread_sigmask)
func holdingMask(_ how: Int32, _ set: UnsafeRawPointer?, _ former: UnsafeMutableRawPointer?) -> Int32 {
    HandlerHold.pass(.mask)
    return HandlerHold.mask(how, set, former)
}

@c(sigaction)
func holdingDisposition(_ signal: Int32, _ new: UnsafeRawPointer?, _ former: UnsafeMutableRawPointer?) -> Int32 {
    HandlerHold.pass(.disposition)
    return HandlerHold.disposition(signal, new, former)
}

/// Our handler is set without a listener, and a signal has come. A source that is made now must get the next signal.
private func makeSource(whileHandlerIsIn call: Call) throws {
    let signal = SIGWINCH
    let loop = GRunLoop.current
    try leaveHandlerInPlace(of: signal)
    let raiser = startThread {
        unblock(signal)
        HandlerHold.thread.store(threadID, ordering: .relaxed)
        HandlerHold.call.store(call.rawValue, ordering: .relaxed)
        raise(signal)
    }
    guard waitUntil({ HandlerHold.isHeld.load(ordering: .sequentiallyConsistent) }) else { return say("not held") }

    let made = Shared<GRunLoop.SignalSource?>(nil)
    let makerID = Shared<pid_t>(0)
    let heard = Flag()
    let maker = startThread {
        makerID.value = threadID
        made.value = try? GRunLoop.SignalSource(signal) { _, _ in heard.set() }
    }
    // The thread `maker` either makes the source without a wait, or sleeps until the handler returns.
    _ = waitUntil { made.value != nil || threadState(makerID.value) == "S" }
    HandlerHold.isReleased.store(true, ordering: .sequentiallyConsistent)
    for thread in [maker, raiser] { pthread_join(thread, nil) }
    guard let source = made.value else { return say("not made") }
    try loop.add(source, forMode: .default)
    // The signal of the held handler is not meant for this source.
    loop.run(for: .zero)
    let before = heard.isSet
    raiseHere(signal)
    loop.run(for: .zero)
    say(disposition(of: signal) != "default" && heard.isSet ? "heard" : "deaf, \(before)")
}

/// The program restores a copy of our handler that it saved while a source listened.
private func leaveHandlerInPlace(of signal: Int32) throws {
    var saved = sigaction()
    let source = try GRunLoop.SignalSource(signal) { _, _ in }
    _ = HandlerHold.disposition(signal, nil, &saved)
    source.invalidate()
    _ = HandlerHold.disposition(signal, &saved, nil)
}
