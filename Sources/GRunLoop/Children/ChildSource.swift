// SPDX-License-Identifier: Apache-2.0
// Sources that report the end of child processes.

import CGRun

extension GRunLoop {
    /// A source whose closure is called once, after a child process has ended.
    ///
    /// The source reaps the child right before it calls the closure. It installs no SIGCHLD handler and does not touch
    /// other children. So you can use it together with GLib and swift-subprocess, which reap only the children that
    /// they wait for.
    ///
    /// **A child has one owner**: only the code that reaps the child gets its status. `GSubprocess`,
    /// `g_child_watch_add()`, Foundation's `Process` and swift-subprocess reap their own children: do not make a source
    /// for these children. If other code than GLib reaps a child that GLib waits for, GLib reports status 0, even if
    /// the child failed.
    ///
    /// Invalidating or releasing the source neither ends nor reaps the child. Another source can then wait for the
    /// child, even if the child has ended meanwhile.
    ///
    /// **The end of a child and the end of its output are two events.** The kernel reports them through two
    /// descriptors, in either order. The child's last output may still be in the pipe when the closure is called. A
    /// child may close its output and continue. A process that the child started may keep the output open after the
    /// child has ended. So wait for both events before you use the result:
    ///
    /// 1. Watch the pipe with a ``DescriptorSource``, and read until `read(2)` returns 0.
    /// 2. In the handler of the child source, store the outcome.
    /// 3. Continue in the handler that is called second. If other processes may hold the pipe open, start a timer in
    ///    the child source's handler. If the output has not ended when the timer fires, close the pipe and continue.
    ///
    /// The program in `Examples/Sources/daemon` waits for both events.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. The corresponding GLib function is
    /// `g_child_watch_source_new`. libdispatch's `DISPATCH_SOURCE_TYPE_PROC` does not exist on Linux.
    public final class ChildSource: Item, Sendable {
        /// The exit status of the child, or the reason why it is unknown: ``SystemError/statusLost(_:)`` if other code
        /// has reaped the child.
        public typealias Outcome = Result<ExitStatus, SystemError>

        /// The child's process id. After the child was reaped, another process may get this id. Threads: any.
        public var pid: Int32 { child.pid }
        private let child: Child
        /// The handler of the descriptor source that represents this source in its modes.
        private let handler: @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void
        /// Holds the closure and its actor, if the closure belongs to an actor; otherwise nil.
        private let confined: Confined?
        private let standIn = StandIn()

        /// Creates a source that waits for the end of a child, and can be added to any loop.
        ///
        /// - Parameters:
        ///   - pid: a child of this process that was not reaped yet. The child may have ended already.
        ///   - handler: a closure that is called once, on the loop's thread. The source is already invalid during the
        ///     call. The closure is released when the source is released.
        /// - Throws: ``SystemError`` immediately, if the status can certainly never be read.
        ///
        /// Threads: any. The corresponding function of GLib is `g_child_watch_source_new`.
        public convenience init(
            pid: Int32, handler: @escaping @Sendable (ChildSource, Outcome) -> Void
        ) throws(SystemError) {
            try self.init(pid, confined: nil) { source, _ in Self.perform(source, handler) }
        }

        init(
            _ pid: Int32, confined: Confined?,
            _ handler: @escaping @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void
        ) throws(SystemError) {
            child = try Child(pid)
            self.handler = handler
            self.confined = confined
        }

        /// The handler of the descriptor source: reaps the child, and calls the child source's handler with the
        /// outcome.
        static func perform(_ descriptorSource: DescriptorSource, _ handler: (ChildSource, Outcome) -> Void) {
            let owner = unsafeDowncast(descriptorSource, to: OwnDescriptorSource.self).owner
            let source = unsafeDowncast(owner, to: ChildSource.self)
            guard let outcome = source.child.reap() else { return descriptorSource.waitForDebugger() }
            source.invalidate()
            handler(source, outcome)
        }

        /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
        ///
        /// - Throws: ``GRunLoop/SystemError`` if a limit or a sandbox prevents the loop from watching the source.
        ///
        /// Threads: any.
        @discardableResult public func carryOut(
            _ operation: MembershipOperation, of loop: GRunLoop, forMode mode: Mode
        ) throws(SystemError) -> Bool {
            try standIn.carryOut(operation, of: loop, forMode: mode, for: self, "ChildSource") {
                OwnDescriptorSource(
                    descriptor: child.descriptor, of: "child", pid, ownedBy: self, confined: confined, handler: handler)
            }
        }

        /// Whether the source is valid. False after a call of ``invalidate()``, during and after the call of the
        /// closure, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { standIn.isValid }

        /// Removes the source from every mode, permanently. The child continues, and is not reaped. If a thread other
        /// than the loop's thread invalidates the source, the loop may still call the closure once. A second call does
        /// nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() { _ = standIn.end(lettingGoOf: confined) }

        /// The program's name for the source, for people who read diagnostics. Nil means no label: see ``Item/label``.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        public var label: String? {
            get { Labels.get(self, "ChildSource.label") }
            set {
                Labels.set(newValue, of: self, "ChildSource.label")
                standIn.passOnLabel(of: self)
            }
        }
    }
}

extension GRunLoop.ChildSource: CustomStringConvertible {
    /// A text for people: the source's validity, child and label. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.ChildSource \(hexAddress(self))>{\(facts(of: standIn.source ?? self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, child = \(pid), perform = closure}}"
    }
}

extension GRunLoop.DescriptorSource {
    /// Stops watching the descriptor for 50 ms, because the child has ended but a debugger still holds it.
    ///
    /// The child cannot be reaped until the debugger has waited for it, but the descriptor is readable meanwhile.
    /// Without the pause, every pass would perform the source. The pause is real time, even if the loop's time is
    /// virtual.
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
