// SPDX-License-Identifier: Apache-2.0
// Captured by a closure that the loop has accepted. It shows whether the closure was called, and when it is released.

import Synchronization
import TestSupport

final class Ticket: Sendable {
    private enum Expectation: Int {
        /// It is called exactly once, and then released.
        case call
        /// It is released without a call: it was cancelled, or its loop has ended.
        case noCall
        /// It may be called any number of times: it belongs to a timer, a source, an observer.
        case anyCalls
    }

    private static let total = Atomic(0)
    private static let alive = Atomic(0)

    private let name: String
    private let calls = Atomic(0)
    private let expectation: Atomic<Int>

    /// The number of tickets in the whole process.
    static var made: Int { total.load(ordering: .relaxed) }

    /// - Parameter isRepeating: the closure may be called any number of times.
    init(_ name: String, isRepeating: Bool = false) {
        self.name = name
        expectation = Atomic((isRepeating ? Expectation.anyCalls : .call).rawValue)
        Self.total.add(1, ordering: .relaxed)
        Self.alive.add(1, ordering: .relaxed)
    }

    deinit {
        Self.alive.subtract(1, ordering: .relaxed)
        if expected == .call, !isCalled { Findings.add("\(name) was released, and not called") }
    }

    private var expected: Expectation? { Expectation(rawValue: expectation.load(ordering: .acquiring)) }
    var isCalled: Bool { calls.load(ordering: .acquiring) > 0 }
    var isCancelled: Bool { expected == .noCall }

    /// Called first in the closure.
    func call() {
        let count = calls.add(1, ordering: .acquiringAndReleasing).newValue
        switch expected {
        case .call where count > 1: Findings.add("\(name) was called \(count) times")
        case .noCall: Findings.add("\(name) was called after it was cancelled or its loop had ended")
        default: break
        }
    }

    /// Notes that the closure must not be called from now on.
    func cancel() { expectation.store(Expectation.noCall.rawValue, ordering: .releasing) }

    /// Called after a program. A thread that has just ended may still release its loop's closures.
    static func expectNoneLeft() {
        if waitUntil(timeout: .seconds(5), { alive.load(ordering: .acquiring) == 0 }) { return }
        Findings.add("\(alive.exchange(0, ordering: .relaxed)) closures were not released after their loop had ended")
    }
}

/// Numbers that must arrive in order, each once.
final class Sequence: Sendable {
    private let name: String
    private let accepted = Atomic(0)
    private let delivered = Atomic(0)

    init(_ name: String) { self.name = name }

    /// The number of the next element. Only one thread uses a sequence for sending.
    var next: Int { accepted.load(ordering: .acquiring) }
    func accept() { accepted.add(1, ordering: .acquiringAndReleasing) }

    func deliver(_ number: Int) {
        let expected = delivered.add(1, ordering: .acquiringAndReleasing).oldValue
        if number != expected { Findings.add("\(name): number \(number) was delivered, and \(expected) was next") }
    }

    /// Describes the accepted elements that have not been delivered.
    var open: String? {
        let (sent, got) = (accepted.load(ordering: .acquiring), delivered.load(ordering: .acquiring))
        return sent == got ? nil : "\(name): \(got) of \(sent) were delivered"
    }

    var delivery: Int { delivered.load(ordering: .acquiring) }
}
