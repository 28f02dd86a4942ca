// SPDX-License-Identifier: Apache-2.0
// A repeating timer, for await.

extension GRunLoop {
    /// The dates of a grid, as they come: a repeating ``Timer``, for `for await`. Each iterator has a timer of its own,
    /// whose grid begins when the iterator is made.
    ///
    /// Ticks that come while the task, or the loop, is busy are one, the latest. The sequence ends, and its timer goes,
    /// at once when the task is cancelled or the iterator is let go; it also ends with the loop's thread.
    public struct Ticks: AsyncSequence, Sendable {
        public typealias Element = Instant
        public typealias Failure = Never

        let loop: GRunLoop
        let interval: Duration
        let tolerance: Duration
        let modes: [Mode]

        public func makeAsyncIterator() -> MailboxIterator<Instant> {
            let mailbox = Mailbox<Instant>(of: loop) { _, newer in newer }
            let timer = Timer(interval: interval, startingAt: loop.time, tolerance: tolerance) { timer in
                mailbox.send(timer.latestDate)
            }
            mailbox.open(for: timer)
            for mode in modes { loop.add(timer, forMode: mode) }
            return MailboxIterator(mailbox)
        }
    }

    /// The points in time that lie `every` apart, as they come, the first one interval after the iterator was made.
    ///
    /// - Parameters:
    ///   - interval: zero and less mean 0.1 ms, as in a ``Timer`` that repeats.
    ///   - tolerance: how much later a tick may come; at most half the interval.
    ///   - names: the modes in which it ticks.
    ///
    /// Threads: any.
    public func ticks(every interval: Duration, tolerance: Duration = .zero, inModes names: [Mode] = [.common]) -> Ticks
    {
        Ticks(loop: self, interval: interval, tolerance: tolerance, modes: names)
    }
}
