// SPDX-License-Identifier: Apache-2.0
// The activities of a loop as an asynchronous sequence.

extension GRunLoop {
    /// The activities that an ``Observer`` can watch, as an asynchronous sequence for `for await`.
    ///
    /// Each element holds the activities since the previous element. The task receives the activity on its own
    /// executor, after the stage is over. To run code in the stage itself, use an observer. Activities that happen
    /// while the task is busy form one element. A task that watches the loop on which it runs keeps this loop awake.
    /// The reason is that each element causes a job, each job causes a pass, and each pass has new activities.
    ///
    /// Cancelling the task or releasing the iterator removes the observer immediately. The sequence ends when the
    /// loop's thread ends.
    public typealias Activities = ItemSequence<Activity, Never>

    /// Returns the activities of the loop's runs as an asynchronous sequence, for `for await`. Watching begins when an
    /// iterator is made.
    ///
    /// - Parameters:
    ///   - activities: the stages to watch.
    ///   - order: the ``Observer/order`` of the observer that watches. Observers of a lower order are called first.
    ///   - names: the modes whose activities are watched. If the list is empty, the sequence has no element.
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
