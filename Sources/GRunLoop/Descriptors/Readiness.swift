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
    public typealias Readiness = ItemSequence<DescriptorSource.Conditions, DescriptorError>

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
        Readiness {
            let mailbox = Mailbox<DescriptorSource.Conditions>(of: self) { $0.union($1) }
            let source = DescriptorSource(descriptor: descriptor, conditions: conditions) { source, found in
                // Removed until the task asks again: else it would be performed in every pass until the task has read.
                for name in names { self.remove(source, forMode: name) }
                mailbox.send(found)
            }
            mailbox.open(for: source)
            return Readiness.Iterator(mailbox) { () throws(DescriptorError) in
                for name in names { try self.add(source, forMode: name) }
            }
        }
    }
}
