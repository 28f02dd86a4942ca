// SPDX-License-Identifier: Apache-2.0
// The dates of a repeating timer as an asynchronous sequence.

extension GRunLoop {
    /// The dates of a repeating ``Timer`` as an asynchronous sequence, for `for await`.
    ///
    /// Each iterator has its own timer. The timer's grid of dates begins when the iterator is made.
    ///
    /// Each element is the date of a tick. If several ticks occur while the task or the loop is busy, the sequence
    /// delivers only the latest date. The sequence ends when the task is cancelled, or when the loop's thread ends.
    /// When the task is cancelled or the iterator is released, the timer leaves the loop immediately.
    public typealias Ticks = ItemSequence<Instant, Never>

    /// Returns the ticks of a repeating timer. The first tick occurs one interval after the iterator is made.
    ///
    /// - Parameters:
    ///   - interval: the time between two ticks. Zero and negative values mean 0.1 ms, as in a repeating ``Timer``.
    ///   - tolerance: how much later than its date a tick may occur; at most half the interval. Negative values mean no
    ///     tolerance.
    ///   - names: the modes in which the timer ticks. If the list is empty, no tick ever occurs.
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
