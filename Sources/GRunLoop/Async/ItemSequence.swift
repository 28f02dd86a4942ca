// SPDX-License-Identifier: Apache-2.0
// What an item of a loop tells, for await.

extension GRunLoop {
    /// What an item of a loop tells, for `for await`: ``Ticks``, ``Readiness``, ``Activities``, ``Signals``, and a
    /// port's ``Port/Messages``.
    ///
    /// Each iterator has an item of its own, but that of messages, whose item is the port. What comes while the task,
    /// or the loop, is busy is one element; messages wait in their port, and each is one. Cancelling the task or
    /// letting go of the iterator takes the item out of the loop at once; the sequence also ends with the loop's
    /// thread.
    public struct ItemSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
        let start: @Sendable () -> Iterator

        /// Makes the item, which goes with the iterator. Threads: any.
        public func makeAsyncIterator() -> Iterator { start() }

        /// The iterator of what an item tells, which holds the item.
        ///
        /// For one task at a time: two that await one iterator stop the program, with a message. Letting go of it takes
        /// its item out of the loop.
        public struct Iterator: AsyncIteratorProtocol {
            private let reader: Reader<Element>
            private let ask: (@Sendable () throws(Failure) -> Void)?

            /// - Parameter ask: what is to be done each time that a task awaits.
            init(_ mailbox: Mailbox<Element>, asking ask: (@Sendable () throws(Failure) -> Void)? = nil) {
                reader = Reader(mailbox)
                self.ask = ask
            }

            /// Waits for the next element.
            ///
            /// It is resumed by jobs of the executor that it is awaited on, and of no other: on the loop's thread,
            /// where that is one of the loop's (of an actor's, or that the task prefers). An element that is there
            /// already suspends nothing.
            ///
            /// - Returns: what has come since the last element: the latest date of ``Ticks``, what a descriptor is
            ///   ready for, all that the loop has done, which signals and how often; or the next message of a port. Nil
            ///   when there will be nothing: the task was cancelled, or the loop has ended.
            /// - Throws: ``DescriptorError`` if a descriptor cannot be watched, ``SignalError`` if signals cannot. The
            ///   next call tries again. For ``Ticks``, ``Activities`` and ``Port/Messages`` nothing is thrown.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async throws(Failure) -> Element? {
                try await next(isolation: #isolation)
            }

            /// The same, for `for await`.
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
