// SPDX-License-Identifier: Apache-2.0
// An observer, for await.

extension GRunLoop {
    /// What a loop has done since the last element: an ``Observer``, for `for await`.
    ///
    /// A task is told after the fact, and on its own executor: what must happen in the stage itself needs an observer.
    /// Activities that come while the task is busy are one element, their union. A task that lives on the loop it
    /// watches keeps that loop awake: each element is a job, which is a pass, which is activity.
    ///
    /// Cancelling the task or letting go of the iterator removes the observer at once. The sequence ends with the
    /// loop's thread.
    public struct Activities: AsyncSequence, Sendable {
        /// What the loop has done since the last element: one activity or more.
        public typealias Element = Activity
        /// Nothing is thrown.
        public typealias Failure = Never

        let loop: GRunLoop
        let activities: Activity
        let order: Int
        let modes: [Mode]

        /// Adds an observer to the loop, and takes it out with the iterator. Threads: any.
        public func makeAsyncIterator() -> Iterator {
            let mailbox = Mailbox<Activity>(of: loop) { $0.union($1) }
            let observer = Observer(activities: activities, order: order) { _, activity in mailbox.send(activity) }
            mailbox.open(for: observer)
            for mode in modes { loop.add(observer, forMode: mode) }
            return Iterator(reader: MailboxReader(mailbox))
        }

        /// The iterator of a loop's activities, which holds its observer.
        ///
        /// For one task at a time: two that await one iterator stop the program, with a message. Letting go of it takes
        /// its observer out of the loop.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: MailboxReader<Activity>

            /// Waits for the next activity.
            ///
            /// It is resumed as ``GRunLoop/Ticks/Iterator/next()`` is.
            ///
            /// - Returns: what the loop has done since the last element; nil when there will be nothing: the task was
            ///   cancelled, or the loop has ended.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async -> Activity? {
                await next(isolation: #isolation)
            }

            /// The same, for `for await`. Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Activity? {
                await reader.next(isolation: actor)
            }
        }
    }

    /// Watches stages of the loop's runs, for `for await`. The watching begins when an iterator is made.
    ///
    /// - Parameters:
    ///   - activities: the stages.
    ///   - order: the place among the loop's observers; lower is told first.
    ///   - names: the modes in which it watches. An empty list means that nothing ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopObserver`.
    public func activities(_ activities: Activity, order: Int = 0, inModes names: [Mode] = [.common]) -> Activities {
        Activities(loop: self, activities: activities, order: order, modes: names)
    }
}
