// SPDX-License-Identifier: Apache-2.0
// An iterator's reference to a mailbox.

/// Closes a mailbox when the iterators that read it are gone.
final class MailboxReader<Element: Sendable>: Sendable {
    private let mailbox: Mailbox<Element>

    init(_ mailbox: Mailbox<Element>) {
        self.mailbox = mailbox
    }

    deinit {
        mailbox.close(.done)
    }

    func next(isolation actor: isolated (any Actor)?) async -> Element? {
        await mailbox.next(isolation: actor)
    }
}
