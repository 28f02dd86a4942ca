// SPDX-License-Identifier: Apache-2.0
// A repeating timer, for await.

extension GRunLoop {
    /// The dates of a grid, as they come: a repeating ``Timer``, for `for await`. Each iterator has a timer of its own,
    /// whose grid begins when the iterator is made.
    ///
    /// Ticks that come while the task, or the loop, is busy are one, the latest. The sequence ends, and its timer goes,
    /// at once when the task is cancelled or the iterator is let go; it also ends with the loop's thread.
    public typealias Ticks = ItemSequence<Instant, Never>

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
        Ticks {
            let mailbox = Mailbox<Instant>(of: self) { _, newer in newer }
            let timer = Timer(interval: interval, startingAt: self.time, tolerance: tolerance) { timer in
                mailbox.send(timer.latestDate)
            }
            mailbox.open(for: timer)
            for name in names { self.add(timer, forMode: name) }
            return Ticks.Iterator(mailbox)
        }
    }
}
