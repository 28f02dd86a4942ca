// SPDX-License-Identifier: Apache-2.0
// The asynchronous sequence of what an item of a loop reports.

extension GRunLoop {
    /// The asynchronous sequence of what an item of a loop reports, for `for await`: ``Ticks``, ``Readiness``,
    /// ``Activities``, ``Signals``, and a port's ``Port/Messages``.
    ///
    /// Each iterator has an item of its own, except that the item of messages is the port. Everything that comes while
    /// the task or the loop is busy becomes one element. Messages wait in their port instead, and each message is one
    /// element. Cancelling the task or releasing the iterator removes the item from the loop immediately. The sequence
    /// also ends with the loop's thread.
    public struct ItemSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
        let start: @Sendable () -> Iterator

        /// Makes an iterator and its item, which is removed from the loop when the iterator is released. Threads: any.
        public func makeAsyncIterator() -> Iterator { start() }

        /// The iterator of what an item reports, which keeps the item alive.
        ///
        /// Only one task at a time may use an iterator: two tasks that await one iterator stop the program, with a
        /// message. Releasing the iterator removes its item from the loop.
        public struct Iterator: AsyncIteratorProtocol {
            private let reader: Reader<Element>
            private let ask: (@Sendable () throws(Failure) -> Void)?

            /// - Parameter ask: a closure that is called each time that a task awaits an element.
            init(_ mailbox: Mailbox<Element>, asking ask: (@Sendable () throws(Failure) -> Void)? = nil) {
                reader = Reader(mailbox)
                self.ask = ask
            }

            /// Waits for the next element.
            ///
            /// The task is resumed by jobs of the executor on which it awaits, and of no other executor. If an actor of
            /// the loop awaits, or a task that prefers the loop's executor, it stays on the loop's thread. If an
            /// element is there already, the task is not suspended.
            ///
            /// - Returns: everything that has come since the last element. This is the latest date of ``Ticks``, what a
            ///   descriptor is ready for, all that the loop has done, or which signals came and how often. For a port,
            ///   it is the next message. Nil if there will be nothing more, because the task was cancelled or the loop
            ///   has ended.
            /// - Throws: ``SystemError`` if a descriptor or a signal cannot be watched. The next call tries again. For
            ///   ``Ticks``, ``Activities`` and ``Port/Messages`` nothing is thrown.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async throws(Failure) -> Element? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next element, as ``next()`` does; called by `for await`.
            ///
            /// - Throws: what ``next()`` throws.
            ///
            /// Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
                try ask?()
                return await reader.mailbox.next(isolation: actor)
            }
        }
    }

    /// Closes a mailbox when the iterators that read it are gone.
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
