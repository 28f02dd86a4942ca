// SPDX-License-Identifier: Apache-2.0
// A recorder of what a loop does: its stages and its callouts, in order.

import CGRun

extension GRunLoop {
    /// Records the stages and callouts of the loop that it is given to, in order, up to a limit.
    ///
    /// Threads: any. While no loop is traced, it costs two instructions a stage.
    public final class Trace: @unchecked Sendable {
        /// The stages of a pass, in their order.
        public enum Stage: String, Hashable, Sendable {
            case entry, beforeTimers, beforeSources, blocks, sources, mainQueueCheck, beforeWaiting, wait, afterWaiting,
                service
            case exit

            init(_ activity: Activity) {
                switch activity {
                case .entry: self = .entry
                case .beforeTimers: self = .beforeTimers
                case .beforeSources: self = .beforeSources
                case .beforeWaiting: self = .beforeWaiting
                case .afterWaiting: self = .afterWaiting
                default: self = .exit
                }
            }
        }

        /// Through which frame user code was called.
        public enum Callout: Sendable, CustomStringConvertible {
            case observer(Observer)
            case block
            case source(Source)
            case timer(Timer)
            case descriptor(DescriptorSource)
            case mainQueue
            case context

            public var description: String {
                switch self {
                case .observer(let observer): "observer (order \(observer.order))"
                case .block: "block"
                case .source(let source): "source (order \(source.order))"
                case .timer: "timer"
                case .descriptor(let source): "descriptor \(source.descriptor)"
                case .mainQueue: "main queue"
                case .context: "context"
                }
            }
        }

        /// One thing that happened.
        public struct Event: Sendable, CustomStringConvertible {
            public enum Kind: Sendable {
                case stage(Stage)
                case callout(Callout, activity: Activity? = nil)
            }

            public let kind: Kind
            /// How many runs were on the stack.
            public let depth: Int
            public let mode: Mode
            public let time: Instant

            public var description: String {
                let what =
                    switch kind {
                    case .stage(let stage): stage.rawValue
                    case .callout(let callout, _): "  \(callout)"
                    }
                return String(repeating: "| ", count: max(0, depth - 1)) + what
            }
        }

        private let limit: Int
        private let lock = Lock.take()
        /// Guarded by `lock`.
        private var recorded: [Event] = []

        /// - Parameter limit: how many events are kept; later ones are not recorded.
        public init(limit: Int = 65_536) {
            self.limit = limit
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// Copied one by one: the array itself is changed in place, as soon as nobody shares it.
        public var events: [Event] {
            Fork.refuses("Trace.events") ? [] : lock.withLock { recorded.map(\.self) }
        }

        /// The events, a line each, indented by the depth of nesting.
        public var lines: [String] { events.map(\.description) }

        public func removeAll() {
            guard !Fork.refuses("Trace.removeAll") else { return }
            // Released after the lock: an event holds the item that it is about.
            _ = lock.withLock { () -> [Event] in
                defer { recorded = [] }
                return recorded
            }
        }

        func record(_ kind: Event.Kind, depth: Int, mode: Mode) {
            let event = Event(kind: kind, depth: depth, mode: mode, time: GRunLoop.now)
            lock.withLock { if recorded.count < limit { recorded.append(event) } }
        }
    }

    /// Has a recorder record what this loop does from now on, in place of an earlier one.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored.
    public func startTracing(_ trace: Trace) {
        guard !Fork.refuses("startTracing"), requireOwnThread("startTracing") else { return }
        let former = tracer
        if former == nil { cgrun_count_tracing(1) }
        tracer = trace
        // Released after the access: with its events may go the last reference to an item, whose deinit is user code.
        withExtendedLifetime(former) {}
    }

    /// Ends that. Threads: the loop's own; from another thread it is logged and ignored.
    public func stopTracing() {
        guard !Fork.refuses("stopTracing"), requireOwnThread("stopTracing") else { return }
        endTracing()
    }

    func endTracing() {
        let former = tracer
        if former != nil { cgrun_count_tracing(-1) }
        tracer = nil
        withExtendedLifetime(former) {}
    }

    // While no loop of the process is traced, a stage costs a comparison with a word at a fixed address, and a jump.
    // GRUN_NO_TRACE is for `scripts/trace-cost`, which counts what these two cost.

    @inline(__always) func mark(_ stage: Trace.Stage) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { recordStage(stage) }
        #endif
    }

    @inline(__always) func mark(_ activity: Activity) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { recordActivity(activity) }
        #endif
    }

    @inline(__always) func trace(_ callout: @autoclosure () -> Trace.Callout, _ activity: Activity? = nil) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { record(.callout(callout(), activity: activity)) }
        #endif
    }

    // Out of line and with plain arguments: what they need must not cost the stages registers.

    @inline(never) private func recordStage(_ stage: Trace.Stage) {
        record(.stage(stage))
    }

    @inline(never) private func recordActivity(_ activity: Activity) {
        record(.stage(Trace.Stage(activity)))
    }

    @inline(never) private func record(_ kind: Trace.Event.Kind) {
        guard let tracer, let activation else { return }
        var depth = 0
        var run: Activation? = activation
        while let current = run {
            depth += 1
            run = current.parent
        }
        tracer.record(kind, depth: depth, mode: activation.mode.name)
    }
}
