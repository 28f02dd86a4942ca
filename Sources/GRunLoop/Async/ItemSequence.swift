// SPDX-License-Identifier: Apache-2.0
// The asynchronous sequence of an item's events.

extension GRunLoop {
    /// The asynchronous sequence of an item's events, for `for await`: ``Ticks``, ``Readiness``, ``Activities``,
    /// ``Signals``, and a port's ``Port/Messages``.
    ///
    /// Each iterator makes its own item, but an iterator of messages uses the port itself. Events that come while the
    /// task or the loop is busy are merged into one element. Messages are not merged: they wait in their port, and each
    /// message is one element. Cancelling the task or releasing the iterator removes the item from the loop
    /// immediately. The end of the loop's thread also ends the sequence.
    public struct ItemSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
        let start: @Sendable () -> Iterator

        /// Makes an iterator and its item. Threads: any.
        public func makeAsyncIterator() -> Iterator { start() }

        /// An iterator over the events of an item. The iterator keeps the item alive.
        ///
        /// Releasing the iterator removes its item from the loop. Only one task at a time may use an iterator. If two
        /// tasks await one iterator, the process ends with a message.
        public struct Iterator: AsyncIteratorProtocol {
            private let reader: Reader<Element>
            private let ask: (@Sendable () throws(Failure) -> Void)?

            /// - Parameter ask: called each time a task awaits an element.
            init(_ mailbox: Mailbox<Element>, asking ask: (@Sendable () throws(Failure) -> Void)? = nil) {
                reader = Reader(mailbox)
                self.ask = ask
            }

            /// Waits for the next element.
            ///
            /// The task resumes directly on the executor on which it awaits. So an actor of the loop stays on the
            /// loop's thread, and so does a task that prefers the loop's executor. If an element is there already, the
            /// task is not suspended.
            ///
            /// - Returns: the events since the previous element, merged into one value. The value depends on the
            ///   sequence: the latest date of ``Ticks``, the conditions of a descriptor, the activities of the loop, or
            ///   the count of each signal. For a port, the value is the next message. Nil if no event can follow,
            ///   because the task was cancelled, the loop has ended, or the port is invalid.
            /// - Throws: ``SystemError`` if the descriptor or the signal cannot be watched. The next call tries again.
            ///   Iterators of ``Ticks``, ``Activities`` and ``Port/Messages`` never throw.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async throws(Failure) -> Element? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next element, as ``next()`` does; called by `for await`.
            ///
            /// - Throws: the same errors as ``next()``.
            ///
            /// Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
                try ask?()
                return await reader.mailbox.next(isolation: actor)
            }
        }
    }

    /// Closes a mailbox when the last iterator that reads it is released.
    private final class Reader<Element: Sendable>: Sendable {
        let mailbox: Mailbox<Element>

        init(_ mailbox: Mailbox<Element>) {
            self.mailbox = mailbox
        }

        deinit {
            mailbox.close(.done)
        }
    }
}
