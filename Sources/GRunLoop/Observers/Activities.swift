// SPDX-License-Identifier: Apache-2.0
// An observer, for await.

extension GRunLoop {
    /// What a loop has done since the last element, one activity or more: an ``Observer``, for `for await`.
    ///
    /// A task is told after the fact, and on its own executor: what must happen in the stage itself needs an observer.
    /// Activities that come while the task is busy are one element, their union. A task that lives on the loop it
    /// watches keeps that loop awake: each element is a job, which is a pass, which is activity.
    ///
    /// Cancelling the task or letting go of the iterator removes the observer at once. The sequence ends with the
    /// loop's thread.
    public typealias Activities = ItemSequence<Activity, Never>

    /// Watches stages of the loop's runs, for `for await`. The watching begins when an iterator is made.
    ///
    /// - Parameters:
    ///   - activities: the stages.
    ///   - order: the place among the loop's observers; lower is told first.
    ///   - names: the modes in which it watches. An empty list means that nothing ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopObserver`.
    public func activities(_ activities: Activity, order: Int = 0, inModes names: [Mode] = [.common]) -> Activities {
        Activities {
            let mailbox = Mailbox<Activity>(of: self) { $0.union($1) }
            let observer = Observer(activities: activities, order: order) { _, activity in mailbox.send(activity) }
            mailbox.open(for: observer)
            for name in names { self.add(observer, forMode: name) }
            return Activities.Iterator(mailbox)
        }
    }
}
