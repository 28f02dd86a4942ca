// SPDX-License-Identifier: Apache-2.0
// What comes to a port, for await.

extension GRunLoop.Port {
    /// The messages of a port, for `for await`: see ``messages(on:inModes:)``.
    public typealias Messages = GRunLoop.ItemSequence<GRunLoop.PortMessage, Never>

    /// The messages of a port that has no handler, for `for await`. In the modes given, the loop delivers the next one
    /// when the task asks for it; until then it waits in the port, and counts there.
    ///
    /// A port has one receiver, for good: a second iterator, or one of a port with a handler, ends at once, with a
    /// message. Cancelling the task or letting go of the iterator invalidates the port. The sequence also ends when the
    /// port is invalidated, and with the loop's thread.
    ///
    /// - Parameters:
    ///   - loop: which the port is added to.
    ///   - names: the modes in which messages are delivered. With an empty list none is, until the port is added to
    ///     one.
    ///
    /// Threads: any. There is no corresponding Foundation function.
    public func messages(on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common]) -> Messages {
        Messages {
            let mailbox = Mailbox<GRunLoop.PortMessage>(of: loop) { older, _ in older }
            guard !Fork.refuses("Port.messages"), self.setTask({ mailbox.send($0) }) else {
                if !Fork.isChild {
                    Log.misuse(
                        "Port.messages", "ignored: the port has a receiver, and keeps it; make a port for each")
                }
                mailbox.close(.done)
                return Messages.Iterator(mailbox)
            }
            mailbox.open(for: self)
            // After that: of a port that is invalid the mailbox is closed at once, and must let go of it.
            self.onInvalidation { [weak mailbox] in mailbox?.close(.done) }
            for name in names { loop.add(self, forMode: name) }
            return Messages.Iterator(mailbox) { self.ask() }
        }
    }
}
