// SPDX-License-Identifier: Apache-2.0
// The end of a child process, as a source.

import CGRun

extension GRunLoop {
    /// A source that is performed once, when a child process has ended: a ``DescriptorSource`` that owns its
    /// descriptor.
    ///
    /// The source reaps the child, right before it calls its closure. It installs no handler of SIGCHLD and touches no
    /// other child. So it works beside GLib and swift-subprocess, which have children of their own.
    ///
    /// **A child has one owner**: the code that reaps the child first gets its status. `GSubprocess`,
    /// `g_child_watch_add()`, Foundation's `Process` and swift-subprocess reap their own children: do not make a source
    /// for these. If other code has reaped a child of GLib's that failed, GLib reports status 0 for it.
    ///
    /// Invalidating or releasing the source neither ends nor reaps the child. Another source can wait for the child
    /// then, even if it has ended meanwhile.
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
        /// How the child has ended, or why that is not known: ``ChildError/statusLost(_:)`` if other code has reaped
        /// the child.
        public typealias Outcome = Result<ExitStatus, ChildError>

        /// The child's process id. After the child was reaped, another process may have the number. Threads: any.
        public var pid: Int32 { child.pid }
        private let child: Child

        /// Creates a source that waits for the end of a child, and may be added to any loop.
        ///
        /// - Parameters:
        ///   - pid: a child of this process that was not reaped yet. It may have ended already.
        ///   - handler: called once, on the loop's thread; the source is invalid by then. The closure is released with
        ///     the source.
        /// - Throws: ``ChildError`` immediately, if it is known already that the status can never be read.
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

        /// The handler of the descriptor source: reaps the child, and calls the source's own handler with the outcome.
        static func perform(_ source: DescriptorSource, _ handler: (ChildSource, Outcome) -> Void) {
            let source = unsafeDowncast(source, to: ChildSource.self)
            guard let outcome = source.child.reap() else { return source.waitForDebugger() }
            source.invalidate()
            handler(source, outcome)
        }

        package override var subject: (kind: String, number: Int32) { ("child", pid) }
        override var ownsDescriptor: Bool { true }
    }
}

extension GRunLoop.DescriptorSource {
    /// Stops watching the descriptor for 50 ms, because a debugger still holds the child, which has ended.
    ///
    /// The child cannot be reaped until the debugger has looked at it, but its descriptor is readable meanwhile.
    /// Without the pause the source would be performed in every pass. The pause is real time, even if the loop's time
    /// is virtual.
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
