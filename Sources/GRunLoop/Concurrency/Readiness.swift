// SPDX-License-Identifier: Apache-2.0
// A descriptor source, for await.

extension GRunLoop {
    /// What a descriptor is ready for, each time that it is awaited: a ``DescriptorSource``, for `for try await`.
    ///
    /// It is level-triggered, and the descriptor is watched only while a task awaits: an element says what is ready
    /// now, and a task that does not read gets the same again. After a hang-up there is no end of it: leave the loop
    /// when a read says so. Each iterator watches for itself; of two that await the same condition the later one gets
    /// it.
    ///
    /// Cancelling the task or letting go of the iterator stops the watching at once. The sequence ends with the loop's
    /// thread. Do not close a descriptor while a task awaits it: the kernel does not report that. One that is closed
    /// before is an error, as in ``GRunLoop/add(_:forMode:)-(GRunLoop.DescriptorSource,_)``.
    public struct Readiness: AsyncSequence, Sendable {
        /// What the descriptor is ready for.
        public typealias Element = DescriptorSource.Conditions
        /// Why the descriptor cannot be watched.
        public typealias Failure = DescriptorError

        let loop: GRunLoop
        let descriptor: Int32
        let conditions: DescriptorSource.Conditions
        let modes: [Mode]

        /// An iterator, which watches while a task awaits its next element. Threads: any.
        public func makeAsyncIterator() -> Iterator {
            let mailbox = Mailbox<Element>(of: loop) { $0.union($1) }
            let source = DescriptorSource(descriptor: descriptor, conditions: conditions) {
                [loop, modes] source, found in
                // Removed until the task asks again: else it would be performed in every pass until the task has read.
                for mode in modes { loop.remove(source, forMode: mode) }
                mailbox.send(found)
            }
            mailbox.open(for: source)
            return Iterator(loop: loop, source: source, modes: modes, found: MailboxReader(mailbox))
        }

        /// The iterator of a descriptor's readiness.
        ///
        /// For one task at a time: two that await one iterator stop the program, with a message.
        public struct Iterator: AsyncIteratorProtocol {
            let loop: GRunLoop
            let source: DescriptorSource
            let modes: [Mode]
            let found: MailboxReader<Element>

            /// Watches the descriptor until it is ready.
            ///
            /// - Returns: what it is ready for; nil when the task was cancelled or the loop has ended.
            /// - Throws: ``DescriptorError`` if it cannot be watched. The next call tries again.
            ///
            /// Threads: any, one task at a time. It is resumed as ``GRunLoop/Ticks/Iterator/next()`` is.
            nonisolated(nonsending) public mutating func next() async throws(DescriptorError) -> Element? {
                try await next(isolation: #isolation)
            }

            /// The same, for `for try await`.
            ///
            /// - Throws: ``DescriptorError`` if the descriptor cannot be watched.
            ///
            /// Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(DescriptorError) -> Element?
            {
                for mode in modes { try loop.add(source, forMode: mode) }
                return await found.next(isolation: actor)
            }
        }
    }

    /// Watches a descriptor each time that a task awaits the next element, for `for try await`.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor that can be polled. It stays the caller's.
    ///   - conditions: what to wait for; hang-ups and errors are always reported.
    ///   - names: the modes in which it is watched. An empty list means that nothing ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1.
    public func readiness(
        of descriptor: Int32, for conditions: DescriptorSource.Conditions = .readable, inModes names: [Mode] = [.common]
    ) -> Readiness {
        Readiness(loop: self, descriptor: descriptor, conditions: conditions, modes: names)
    }
}
