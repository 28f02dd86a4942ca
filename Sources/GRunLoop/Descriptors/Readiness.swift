// SPDX-License-Identifier: Apache-2.0
// Waiting with `await` until a descriptor is ready.

extension GRunLoop {
    /// The readiness of a descriptor as an asynchronous sequence: ``DescriptorSource`` for `for try await`.
    ///
    /// Each element is the set of conditions that hold now. The sequence is level-triggered, so a task that does not
    /// read the data gets an equal element again. The sequence watches the descriptor only while a task awaits an
    /// element. After a hang-up, every element reports the hang-up: leave the `for` loop when a read returns the end of
    /// the stream. Each iterator watches the descriptor separately. If two iterators await the same condition, only the
    /// iterator that began to wait later gets it.
    ///
    /// If the task is cancelled or the iterator is released, watching stops immediately. The sequence ends when the
    /// loop's thread ends. Do not close a descriptor while a task awaits its readiness, because the kernel does not
    /// report that it was closed. If the descriptor is closed already, awaiting an element throws an error, as
    /// ``GRunLoop/add(_:forMode:)-(Kind,_)`` does.
    public typealias Readiness = ItemSequence<DescriptorSource.Conditions, SystemError>

    /// Returns an asynchronous sequence of the conditions for which a descriptor is ready, for `for try await`.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor that can be polled. The caller owns it, and the loop never closes it.
    ///   - conditions: the conditions to wait for. Hang-ups and errors are always reported.
    ///   - names: the modes in which the descriptor is watched. If the list is empty, no element ever comes.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1.
    public func readiness(
        of descriptor: Int32, for conditions: DescriptorSource.Conditions = .readable, inModes names: [Mode] = [.common]
    ) -> Readiness {
        Readiness {
            let mailbox = Mailbox<DescriptorSource.Conditions>(of: self) { $0.union($1) }
            let source = DescriptorSource(descriptor: descriptor, conditions: conditions) { source, found in
                // Removes the source until the task awaits the next element. Otherwise every pass would perform the
                // source until the task has read the data.
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
