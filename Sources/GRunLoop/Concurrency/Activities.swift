// SPDX-License-Identifier: Apache-2.0
// An observer, for await.

extension GRunLoop {
    /// What a loop has done since the last element: an ``Observer``, for `for await`.
    ///
    /// A task is told after the fact, and on its own executor: what must happen in the stage itself needs an observer. Activities that come while
    /// the task is busy are one element, their union. A task that lives on the loop it watches keeps that loop awake: each element is a job,
    /// which is a pass, which is activity.
    ///
    /// Cancelling the task or letting go of the iterator removes the observer at once. The sequence ends with the loop's thread.
    public struct Activities: AsyncSequence, Sendable {
        public typealias Element = Activity
        public typealias Failure = Never

        let loop: GRunLoop
        let activities: Activity
        let order: Int
        let modes: [Mode]

        public func makeAsyncIterator() -> Iterator {
            let mailbox = Mailbox<Activity>(of: loop) { $0.union($1) }
            let observer = Observer(activities: activities, order: order) { _, activity in mailbox.send(activity) }
            mailbox.open(for: .observer(observer))
            for mode in modes { loop.add(observer, forMode: mode) }
            return Iterator(reader: MailboxReader(mailbox))
        }

        /// For one task at a time: two that await one iterator stop the program, with a message.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: MailboxReader<Activity>

            /// What was done, nil when there will be nothing more.
            nonisolated(nonsending) public mutating func next() async -> Activity? {
                await reader.mailbox.next()
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> Activity? {
                await reader.mailbox.next()
            }
        }
    }

    /// Watches stages of the loop's runs.
    ///
    /// - Parameters:
    ///   - activities: the stages.
    ///   - order: the place among the loop's observers; lower is told first.
    ///   - names: the modes in which it watches.
    ///
    /// Threads: any.
    public func activities(_ activities: Activity, order: Int = 0, inModes names: [Mode] = [.common]) -> Activities {
        Activities(loop: self, activities: activities, order: order, modes: names)
    }
}
