// SPDX-License-Identifier: Apache-2.0
// What a task holds of a mailbox.

extension GRunLoop {
    /// The iterator of what a loop's timer or observer has to tell. For one task at a time: two that await one iterator
    /// stop the program, with a message. Letting go of it takes the item out of the loop.
    public struct MailboxIterator<Element: Sendable>: AsyncIteratorProtocol {
        private let reader: MailboxReader<Element>

        init(_ mailbox: Mailbox<Element>) {
            reader = MailboxReader(mailbox)
        }

        /// The next element, nil when there will be none: the task was cancelled, or the loop has ended.
        ///
        /// It is resumed by jobs of the executor that it is awaited on, and of no other: on the loop's thread, where
        /// that is one of the loop's (of an actor's, or that the task prefers). An element that is there already
        /// suspends nothing.
        nonisolated(nonsending) public mutating func next() async -> Element? {
            await next(isolation: #isolation)
        }

        /// The same, for `for await`.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await reader.mailbox.next(isolation: actor)
        }
    }
}

/// Closes a mailbox when the iterators that read it are gone.
private final class MailboxReader<Element: Sendable>: Sendable {
    let mailbox: Mailbox<Element>

    init(_ mailbox: Mailbox<Element>) {
        self.mailbox = mailbox
    }

    deinit {
        mailbox.close(.done)
    }
}
