// SPDX-License-Identifier: Apache-2.0
// The end of a child process, as an item.

import CGRun

extension GRunLoop {
    /// A source that is performed once, when a child process has ended: a ``DescriptorSource`` whose descriptor is its
    /// own.
    ///
    /// It reaps the child, right before its callout. There is no handler of SIGCHLD, and no other child is touched, so
    /// that it lives beside GLib's and swift-subprocess's children. But **a child has one owner**: whoever reaps it
    /// first gets its status. A child of GSubprocess, of `g_child_watch_add()`, of Foundation's `Process` or of
    /// swift-subprocess is theirs: GLib reports status 0 of a child that ended otherwise, if somebody else has reaped
    /// it.
    ///
    /// Invalidating or letting go of the source does not end the child, and does not reap it: another source can wait
    /// for it, also if it has ended meanwhile.
    ///
    /// **The end of a child and the end of its output are two events.** The kernel reports them by two descriptors, and
    /// either can come first. What the child printed may still be in the pipe when the child source is performed. A
    /// child may close its output and go on. A process that the child has started may keep the output open after the
    /// child has ended. So wait for both before you use the result:
    ///
    /// 1. Watch the pipe with a ``DescriptorSource``, and read until `read(2)` returns 0.
    /// 2. In the handler of the child source, keep the outcome.
    /// 3. Go on in whichever of the two handlers comes second. Set a timer in the child source's handler if other
    ///    processes can have the pipe.
    ///
    /// `Examples/Sources/daemon` does this.
    ///
    /// Threads: any. Core Foundation has nothing of the kind; the corresponding function of GLib is
    /// `g_child_watch_source_new`, libdispatch's `DISPATCH_SOURCE_TYPE_PROC` does not exist on Linux.
    public final class ChildSource: DescriptorSource, @unchecked Sendable {
        /// How the child has ended, or why that is not known: ``ChildError/statusLost(_:)`` if somebody else has reaped
        /// it.
        public typealias Outcome = Result<ExitStatus, ChildError>

        /// The child's number, which may be another process's once it was reaped. Threads: any.
        public var pid: Int32 { child.pid }
        private let child: Child

        /// A source that waits for the end of a child, and may be added to any loop.
        ///
        /// - Parameters:
        ///   - pid: a child of this process that nobody has reaped yet. It may have ended.
        ///   - handler: called once, on the loop's thread; the source is invalid by then. It is kept until the source
        ///     itself goes.
        /// - Throws: ``ChildError``: at once, where it can be told already that the status will never be known.
        ///
        /// Threads: any. The corresponding function of GLib is `g_child_watch_source_new`.
        public convenience init(
            pid: Int32, handler: @escaping @Sendable (ChildSource, Outcome) -> Void
        ) throws(ChildError) {
            try self.init(pid, confined: nil) { source, _ in Self.perform(source, handler) }
        }

        init(
            _ pid: Int32, confined: Confined?, _ handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) throws(ChildError) {
            child = try Child(pid)
            super.init(child.descriptor, .readable, confined: confined, handler)
        }

        /// What its handler does as that of a descriptor source.
        static func perform(_ source: DescriptorSource, _ handler: (ChildSource, Outcome) -> Void) {
            let source = unsafeDowncast(source, to: ChildSource.self)
            guard let outcome = source.child.reap() else { return source.waitForDebugger() }
            source.invalidate()
            handler(source, outcome)
        }

        override var subject: (kind: String, number: Int32) { ("child", pid) }
        override var ownsDescriptor: Bool { true }
    }
}

extension GRunLoop.DescriptorSource {
    /// A child has ended, but belongs to a debugger until that has looked at it, and its descriptor is readable all the
    /// while. It is asked again in a moment, which is the clock's whatever the loop's time is, and not in every pass.
    func waitForDebugger() {
        change(to: [])
        let waiting = Unmanaged.passRetained(Waiting(source: self)).toOpaque()
        cgrun_call_later(
            50_000_000, { $0.map { Unmanaged<Waiting>.fromOpaque($0).takeRetainedValue().end() } }, waiting)
    }

    private final class Waiting {
        private weak var source: GRunLoop.DescriptorSource?

        init(source: GRunLoop.DescriptorSource) { self.source = source }

        func end() { source?.change(to: .readable) }
    }
}
