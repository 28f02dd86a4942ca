// SPDX-License-Identifier: Apache-2.0
// The messages of a port as an asynchronous sequence, for `for await`.

extension GRunLoop.Port {
    /// The asynchronous sequence of a port's messages: see ``messages(on:inModes:)``.
    public typealias Messages = GRunLoop.ItemSequence<GRunLoop.PortMessage, Never>

    /// Returns the messages of a port without a handler as an asynchronous sequence, for `for await`. When the task
    /// asks for a message, the loop delivers one in the given modes. Until then, messages wait in the port, and
    /// ``count`` counts them.
    ///
    /// A port has one receiver, which is never replaced. If the port has a handler or an iterator already, a new
    /// iterator logs a message and ends immediately. Cancelling the awaiting task or releasing the iterator invalidates
    /// the port. The sequence also ends when the port is invalidated, and when the loop's thread ends.
    ///
    /// - Parameters:
    ///   - loop: the loop to which the port is added.
    ///   - names: the modes in which messages are delivered. If the list is empty, nothing is delivered until the port
    ///     is added to a mode.
    ///
    /// Threads: any. There is no corresponding Foundation function.
    public func messages(on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common]) -> Messages {
        Messages {
            let mailbox = Mailbox<GRunLoop.PortMessage>(of: loop) { older, _ in older }
            guard !Fork.refuses("Port.messages"), self.setTask({ mailbox.send($0) }) else {
                if !Fork.isChild {
                    Log.misuse(
                        "Port.messages", "ignored: the port already has a receiver; make a port for each receiver")
                }
                mailbox.close(.done)
                return Messages.Iterator(mailbox)
            }
            mailbox.open(for: self)
            // If the port is invalid already, this call closes the mailbox immediately.
            self.onInvalidation { [weak mailbox] in mailbox?.close(.done) }
            for name in names { loop.add(self, forMode: name) }
            return Messages.Iterator(mailbox) { self.ask() }
        }
    }
}
