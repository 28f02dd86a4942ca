// SPDX-License-Identifier: Apache-2.0
// A sequence that the test feeds. It reports when its reader has handled an element, and waits for the next one.

import Synchronization

final class Feed: AsyncSequence, Sendable {
    private struct State {
        var waiting: [String] = []
        var isOver = false
        var reader: CheckedContinuation<String?, Never>?
        /// How often the reader has asked for an element.
        var asked = 0
    }

    private let state = Mutex(State())

    struct AsyncIterator: AsyncIteratorProtocol {
        let feed: Feed
        func next() async -> String? { await feed.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: self) }

    private func next() async -> String? {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> String?? in
                state.asked += 1
                if !state.waiting.isEmpty { return .some(state.waiting.removeFirst()) }
                if state.isOver { return .some(nil) }
                state.reader = continuation
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// Sends an element, and waits until the reader has handled it.
    func send(_ element: String) {
        let asked = state.withLock { state -> Int in
            // A waiting reader has already asked.
            let before = state.asked + (state.reader == nil ? 1 : 0)
            if let reader = state.reader.take() {
                reader.resume(returning: element)
            } else {
                state.waiting.append(element)
            }
            return before
        }
        wait("the reader of \(element)") { self.state.withLock { $0.asked > asked } }
    }

    func finish() {
        let reader = state.withLock { state in
            state.isOver = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }
}
