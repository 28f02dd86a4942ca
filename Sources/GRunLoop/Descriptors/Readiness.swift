// SPDX-License-Identifier: Apache-2.0
// The conditions of a descriptor as an asynchronous sequence.

extension GRunLoop {
    /// The conditions that a descriptor is ready for: a ``DescriptorSource`` for `for try await`.
    ///
    /// The sequence is level-triggered, and the descriptor is watched only while a task awaits an element. An element
    /// says what is ready now, so a task that does not read gets the same element again. After a hang-up each element
    /// reports the hang-up again: leave the `for` loop when a read returns the end of the stream. Each iterator watches
    /// the descriptor separately. If two await the same condition, the one that began to wait later gets it.
    ///
    /// Watching stops immediately when the task is cancelled or the iterator is released. The sequence ends when the
    /// loop's thread ends. Do not close a descriptor while a task awaits it, because the kernel does not report that.
    /// Awaiting a descriptor that is closed already is an error, as in
    /// ``GRunLoop/add(_:forMode:)-(Kind,_)``.
    public typealias Readiness = ItemSequence<DescriptorSource.Conditions, SystemError>

    /// Returns a sequence of the conditions that a descriptor is ready for, for `for try await`.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor that can be polled. The caller owns it, and the loop never closes it.
    ///   - conditions: what to wait for; hang-ups and errors are always reported.
    ///   - names: the modes in which the descriptor is watched. If the list is empty, no element ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1.
    public func readiness(
        of descriptor: Int32, for conditions: DescriptorSource.Conditions = .readable, inModes names: [Mode] = [.common]
    ) -> Readiness {
        Readiness {
            let mailbox = Mailbox<DescriptorSource.Conditions>(of: self) { $0.union($1) }
            let source = DescriptorSource(descriptor: descriptor, conditions: conditions) { source, found in
                // The source is removed until the task asks again. Otherwise it would be performed in every pass until
                // the task has read.
                for name in names { self.remove(source, forMode: name) }
                mailbox.send(found)
            }
            mailbox.open(for: source)
            return Readiness.Iterator(mailbox) { () throws(SystemError) in
                for name in names { try self.add(source, forMode: name) }
            }
        }
    }
}
