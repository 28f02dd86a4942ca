// SPDX-License-Identifier: Apache-2.0
// A repeating timer, for await.

extension GRunLoop {
    /// The dates of a grid, as they come: a repeating ``Timer``, for `for await`. Each iterator has a timer of its own,
    /// whose grid begins when the iterator is made.
    ///
    /// Ticks that come while the task, or the loop, is busy are one, the latest. The sequence ends, and its timer goes,
    /// at once when the task is cancelled or the iterator is let go; it also ends with the loop's thread.
    public struct Ticks: AsyncSequence, Sendable {
        /// A date of the grid.
        public typealias Element = Instant
        /// Nothing is thrown.
        public typealias Failure = Never

        let loop: GRunLoop
        let interval: Duration
        let tolerance: Duration
        let modes: [Mode]

        /// Adds a timer to the loop, and takes it out with the iterator. Threads: any.
        public func makeAsyncIterator() -> Iterator {
            let mailbox = Mailbox<Instant>(of: loop) { _, newer in newer }
            let timer = Timer(interval: interval, startingAt: loop.time, tolerance: tolerance) { timer in
                mailbox.send(timer.latestDate)
            }
            mailbox.open(for: timer)
            for mode in modes { loop.add(timer, forMode: mode) }
            return Iterator(reader: MailboxReader(mailbox))
        }

        /// The iterator of a grid's dates, which holds its timer.
        ///
        /// For one task at a time: two that await one iterator stop the program, with a message. Letting go of it takes
        /// its timer out of the loop.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: MailboxReader<Instant>

            /// Waits for the next date.
            ///
            /// It is resumed by jobs of the executor that it is awaited on, and of no other: on the loop's thread,
            /// where that is one of the loop's (of an actor's, or that the task prefers). An element that is there
            /// already suspends nothing.
            ///
            /// - Returns: the latest date that has come; nil when there will be none: the task was cancelled, or the
            ///   loop has ended.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async -> Instant? {
                await next(isolation: #isolation)
            }

            /// The same, for `for await`. Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Instant? {
                await reader.next(isolation: actor)
            }
        }
    }

    /// The points in time that lie `every` apart, as they come, the first one interval after the iterator was made.
    ///
    /// - Parameters:
    ///   - interval: zero and less mean 0.1 ms, as in a ``Timer`` that repeats.
    ///   - tolerance: how much later a tick may come; at most half the interval. Negative means none.
    ///   - names: the modes in which it ticks. An empty list means that nothing ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopTimer`.
    public func ticks(every interval: Duration, tolerance: Duration = .zero, inModes names: [Mode] = [.common]) -> Ticks
    {
        Ticks(loop: self, interval: interval, tolerance: tolerance, modes: names)
    }
}
