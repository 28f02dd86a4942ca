// SPDX-License-Identifier: Apache-2.0
// The activities of a loop as an asynchronous sequence, for `for await`.

extension GRunLoop {
    /// The activities of a loop as an asynchronous sequence: an ``Observer`` for `for await`. An element holds what the
    /// loop has done since the last element: one activity or more.
    ///
    /// The task gets an activity after the stage, on the task's own executor. To do something in the stage itself, use
    /// an observer. Activities that come while the task is busy are one element, their union. A task that runs on the
    /// loop that it watches keeps that loop awake: each element is a job, each job takes a pass, and each pass is new
    /// activity.
    ///
    /// Cancelling the task or releasing the iterator removes the observer immediately. The sequence ends when the
    /// loop's thread ends.
    public typealias Activities = ItemSequence<Activity, Never>

    /// Returns the activities of the loop's runs as an asynchronous sequence, for `for await`. Watching begins when an
    /// iterator is made.
    ///
    /// - Parameters:
    ///   - activities: the stages to watch.
    ///   - order: the observer's place among the loop's observers; a lower one is called first.
    ///   - names: the modes in which it watches. With an empty list, no element ever comes.
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
