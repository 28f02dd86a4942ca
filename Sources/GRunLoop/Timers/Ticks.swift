// SPDX-License-Identifier: Apache-2.0
// A repeating timer as an asynchronous sequence.

extension GRunLoop {
    /// A repeating ``Timer`` as an asynchronous sequence of the dates of its grid, for `for await`.
    ///
    /// Each iterator has its own timer, whose grid begins when the iterator is made.
    ///
    /// If several ticks come while the task or the loop is busy, the sequence delivers only the latest. The sequence
    /// ends when the task is cancelled, or when the loop's thread ends. The timer leaves the loop immediately when the
    /// task is cancelled or the iterator is released.
    public typealias Ticks = ItemSequence<Instant, Never>

    /// Returns the ticks of a repeating timer; the first tick comes one interval after the iterator is made.
    ///
    /// - Parameters:
    ///   - interval: the time between two ticks. Zero or less means 0.1 ms, as in a repeating ``Timer``.
    ///   - tolerance: how much later a tick may come; at most half the interval. Negative means none.
    ///   - names: the modes in which the timer ticks. With an empty list no tick ever comes.
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
