// SPDX-License-Identifier: Apache-2.0
// Runs random sequences on Foundation's notification queue and on ours, and compares the posted notifications.
//
// The test compares the set of notifications of each run. It ignores the order of `.asap` and `.whenIdle`, because
// swift-corelibs-foundation posts them the other way round. That library posts only in common modes, and not in
// `.common` itself. So all modes here are common and are named one by one.

import CoreFoundation
import Foundation
import GRunLoop
import TestSupport
import XCTest

private final class Someone: NSObject, Sendable {}

/// A step for both queues. Names and senders are indices; nil means no sender.
private enum Step {
    case enqueue(name: Int, sender: Int?, payload: Int, style: Int, coalescing: Int, modes: [Int])
    case dequeue(name: Int, sender: Int?, coalescing: Int)
    /// A run of a mode. The steps are made at its entry.
    indirect case run(mode: Int, [Step])
}

private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func steps(_ count: Int, runs: Bool) -> [Step] { (0..<count).map { step($0, runs: runs) } }

    private mutating func step(_ payload: Int, runs: Bool) -> Step {
        let sender = [nil, 0, 1].randomElement(using: &self) ?? nil
        switch Int.random(in: 0..<10, using: &self) {
        case 0..<6:
            let modes = (0..<3).filter { _ in Bool.random(using: &self) }
            return .enqueue(
                name: .random(in: 0..<3, using: &self), sender: sender, payload: payload + (runs ? 0 : 1000),
                style: .random(in: 0..<3, using: &self), coalescing: .random(in: 0..<4, using: &self), modes: modes)
        case 6, 7:
            return .dequeue(
                name: .random(in: 0..<3, using: &self), sender: sender, coalescing: .random(in: 0..<4, using: &self))
        default:
            return .run(mode: .random(in: 0..<3, using: &self), runs ? steps(4, runs: false) : [])
        }
    }
}

/// One of the two queues, with its loop.
private protocol Side: AnyObject {
    func enqueue(_ name: Int, _ sender: Someone?, _ payload: Int, _ style: Int, _ coalescing: Int, _ modes: [Int])
    func dequeue(_ name: Int, _ sender: Someone?, _ coalescing: Int)
    /// Runs a mode until everything for it is posted. Calls `body` at the entry of the run.
    func run(_ mode: Int, _ body: @escaping () -> Void)
    var posted: [Int] { get set }
}

extension Side {
    /// Returns the sorted notifications of each run, and of the time between two runs.
    func results(of steps: [Step], _ senders: [Someone]) -> [[Int]] {
        var results: [[Int]] = []
        func note() {
            results.append(posted.sorted())
            posted = []
        }
        for step in steps {
            if case .run(let mode, let inner) = step {
                note()
                run(mode) { for step in inner { self.carryOut(step, senders) } }
                note()
            } else {
                carryOut(step, senders)
            }
        }
        note()
        return results
    }

    private func carryOut(_ step: Step, _ senders: [Someone]) {
        switch step {
        case .enqueue(let name, let sender, let payload, let style, let coalescing, let modes):
            enqueue(name, sender.map { senders[$0] }, payload, style, coalescing, modes)
        case .dequeue(let name, let sender, let coalescing): dequeue(name, sender.map { senders[$0] }, coalescing)
        // Not within a run.
        case .run: break
        }
    }
}

private let modeNames = ["kCFRunLoopDefaultMode", "grun.test.a", "grun.test.b"]

private final class FoundationSide: Side {
    private let center = NotificationCenter()
    private let queue: NotificationQueue
    private let timers = modeNames.map { _ in Foundation.Timer(timeInterval: 3600, repeats: true) { _ in } }
    private var observer: (any NSObjectProtocol)?
    nonisolated(unsafe) var posted: [Int] = []

    init() {
        queue = NotificationQueue(notificationCenter: center)
        for (name, timer) in zip(modeNames, timers) {
            CFRunLoopAddCommonMode(CFRunLoopGetCurrent(), Self.string(name))
            RunLoop.current.add(timer, forMode: RunLoop.Mode(name))
        }
        nonisolated(unsafe) unowned let side = self
        observer = center.addObserver(forName: nil, object: nil, queue: nil) {
            side.posted.append($0.userInfo?["payload"] as? Int ?? -1)
        }
    }

    func end() {
        observer.map(center.removeObserver)
        for timer in timers { timer.invalidate() }
    }

    private static func string(_ text: String) -> CFString { CFStringCreateWithCString(nil, text, 0x0800_0100) }

    private func notification(_ name: Int, _ sender: Someone?, _ payload: Int) -> Foundation.Notification {
        Foundation.Notification(
            name: .init("name \(name)"), object: sender, userInfo: ["payload": payload])
    }

    func enqueue(_ name: Int, _ sender: Someone?, _ payload: Int, _ style: Int, _ coalescing: Int, _ modes: [Int]) {
        queue.enqueue(
            notification(name, sender, payload), postingStyle: [.now, .asap, .whenIdle][style],
            coalesceMask: .init(rawValue: UInt(coalescing)), forModes: modes.map { RunLoop.Mode(modeNames[$0]) })
    }

    func dequeue(_ name: Int, _ sender: Someone?, _ coalescing: Int) {
        queue.dequeueNotifications(
            matching: notification(name, sender, 0), coalesceMask: .init(rawValue: UInt(coalescing)))
    }

    func run(_ mode: Int, _ body: @escaping () -> Void) {
        let name = Self.string(modeNames[mode])
        let activities = CFRunLoopActivity.entry.rawValue
        let entry = CFRunLoopObserverCreateWithHandler(nil, activities, false, 0) { _, _ in body() }
        CFRunLoopAddObserver(CFRunLoopGetCurrent(), entry, name)
        CFRunLoopRunInMode(name, 0.00001, false)
    }
}

private final class OurSide: Side {
    private let loop: GRunLoop
    private let queue: GRunLoop.NotificationQueue<Int, Int>
    private var observation: GRunLoop.Observation?
    nonisolated(unsafe) var posted: [Int] = []

    /// Uses virtual time, so a run ends as soon as nothing is left to do.
    init(_ loop: GRunLoop) {
        self.loop = loop
        queue = .init(on: loop)
        for name in modeNames {
            try? loop.addCommonMode(.init(name))
            loop.add(GRunLoop.Timer(interval: .seconds(3600), repeats: true) { _ in }, forMode: .init(name))
        }
        nonisolated(unsafe) unowned let side = self
        observation = queue.observe { side.posted.append($0.payload) }
    }

    func enqueue(_ name: Int, _ sender: Someone?, _ payload: Int, _ style: Int, _ coalescing: Int, _ modes: [Int]) {
        queue.enqueue(
            .init(name: name, sender: sender, payload: payload), style: [.now, .asap, .whenIdle][style],
            coalescing: .init(rawValue: UInt(coalescing)), inModes: modes.map { .init(modeNames[$0]) })
    }

    func dequeue(_ name: Int, _ sender: Someone?, _ coalescing: Int) {
        queue.dequeue(
            matching: .init(name: name, sender: sender, payload: 0), coalescing: .init(rawValue: UInt(coalescing)))
    }

    func run(_ mode: Int, _ body: @escaping () -> Void) {
        nonisolated(unsafe) let body = body
        let name = GRunLoop.Mode(modeNames[mode])
        loop.add(GRunLoop.Observer(activities: .entry, repeats: false) { _, _ in body() }, forMode: name)
        loop.run(mode: name, for: .milliseconds(1))
    }
}

final class FoundationNotificationTests: MainThreadTestCase {
    /// item 223: coalescing, modes and dequeue give what Foundation's queue gives
    func testSequences() {
        let senders = [Someone(), Someone()]
        // All seeds share one queue, because Foundation never releases a queue, and an observer affects all queues.
        let theirs = FoundationSide()
        defer { theirs.end() }
        var count = 0
        for seed in 1...500 as ClosedRange<UInt64> {
            var generator = Generator(state: seed)
            // The last run of each mode posts everything that is left.
            let steps = generator.steps(30, runs: true) + (0..<3).map { Step.run(mode: $0, []) }
            let expected = theirs.results(of: steps, senders)
            for name in 0..<3 { theirs.dequeue(name, nil, 1) }
            let results = GRunLoop.withVirtualTime { OurSide($0.loop).results(of: steps, senders) }
            XCTAssertEqual(results, expected, "seed \(seed): \(steps)")
            count += expected.joined().count
            if results != expected { return }
        }
        // Enough notifications were posted to compare.
        XCTAssertGreaterThan(count, 1000)
    }
}
