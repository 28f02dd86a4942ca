// SPDX-License-Identifier: Apache-2.0
// When operations are cancelled, and how they have ended.

import TestSupport

/// When an operation is cancelled.
enum Moment: CaseIterable {
    /// Before its task begins.
    case beforeTask
    /// After the operation has begun, before the loop runs.
    case beforeLoop
    /// On the loop's thread, after the loop has run.
    case inside
    /// On another thread, 0 to 2 ms later.
    case soon, later, latest
    /// Not at all, or, if the operation is endless, when all operations have begun.
    case never

    init(of number: Int) { self = Moment.allCases[number % Moment.allCases.count] }

    var isOnAnotherThread: Bool { self == .soon || self == .later || self == .latest }
}

/// Counts the operations of a storm.
final class Tally: Sendable {
    enum End {
        case finished, cancelled
        case failed(String)
    }

    struct Counts {
        var pending = 0
        var (finished, cancelled) = (0, 0)
        var failures: [String] = []
    }

    private let shared = Shared(Counts())

    var counts: Counts { shared.value }

    func begin() { shared.update { $0.pending += 1 } }

    func end(_ end: End) {
        shared.update { counts in
            counts.pending -= 1
            switch end {
            case .finished: counts.finished += 1
            case .cancelled: counts.cancelled += 1
            case .failed(let text): if counts.failures.count < 5 { counts.failures.append(text) }
            }
        }
    }
}
