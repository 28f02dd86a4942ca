// SPDX-License-Identifier: Apache-2.0
// A recorder of what a loop does: its stages and its callouts, in order.

import CGRun

extension GRunLoop {
    /// Records the stages and callouts of the loop that it is given to, in order, up to a limit.
    ///
    /// It records nothing until ``GRunLoop/startTracing(_:)``. It keeps the items that it has events of. While no loop
    /// is traced, it costs two instructions a stage.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public final class Trace: @unchecked Sendable {
        /// The stages of a pass, in their order.
        public enum Stage: String, Hashable, Sendable {
            /// The run begins: stage 1.
            case entry
            /// Observers of ``GRunLoop/Activity/beforeTimers`` are called: stage 2.
            case beforeTimers
            /// Observers of ``GRunLoop/Activity/beforeSources`` are called: stage 3.
            case beforeSources
            /// Blocks are run: stages 4, 5 and 11.
            case blocks
            /// Signalled sources are performed: stage 5.
            case sources
            /// The main dispatch queue alone is looked at: stage 6.
            case mainQueueCheck
            /// Observers of ``GRunLoop/Activity/beforeWaiting`` are called: stage 7.
            case beforeWaiting
            /// The loop sleeps, or looks what is ready: stage 8.
            case wait
            /// Observers of ``GRunLoop/Activity/afterWaiting`` are called: stage 9.
            case afterWaiting
            /// What is ready is serviced: stage 10.
            case service
            /// The run ends.
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

            /// In their order.
            static let all: [Self] = [
                .entry, .beforeTimers, .beforeSources, .blocks, .sources, .mainQueueCheck, .beforeWaiting, .wait,
                .afterWaiting, .service, .exit,
            ]

            /// Its place among them.
            var number: Int64 {
                switch self {
                case .entry: 0
                case .beforeTimers: 1
                case .beforeSources: 2
                case .blocks: 3
                case .sources: 4
                case .mainQueueCheck: 5
                case .beforeWaiting: 6
                case .wait: 7
                case .afterWaiting: 8
                case .service: 9
                case .exit: 10
                }
            }
        }

        /// Through which frame user code was called.
        public enum Callout: Sendable, CustomStringConvertible {
            /// An observer's closure.
            case observer(Observer)
            /// A block.
            case block
            /// The closure of a version-0 source.
            case source(Source)
            /// A timer's closure.
            case timer(Timer)
            /// A delayed perform: the closure of ``GRunLoop/perform(after:_:)``, a sleep, a limit of a message port's
            /// request.
            case delayedPerform
            /// The closure of a descriptor source, or of a signal's or a child's.
            case descriptor(DescriptorSource)
            /// A drain of the main dispatch queue.
            case mainQueue
            /// A dispatch of one of GLib's contexts.
            case context
            /// A closure of an idle queue.
            case idleWork
            /// The handler of a port, or the task that awaits its messages.
            case port(Port)

            /// What was called, in a few words, with the label that the item has now.
            public var description: String {
                switch self {
                case .observer(let observer): "observer\(Labels.suffix(of: observer)) (order \(observer.order))"
                case .block: "block"
                case .source(let source): "source\(Labels.suffix(of: source)) (order \(source.order))"
                case .timer(let timer): "timer\(Labels.suffix(of: timer))"
                case .delayedPerform: "delayed perform"
                case .descriptor(let source):
                    "\(source.subject.kind) \(source.subject.number)\(Labels.suffix(of: source))"
                case .mainQueue: "main queue"
                case .context: "context"
                case .idleWork: "idle work"
                case .port(let port): "port\(Labels.suffix(of: port))"
                }
            }
        }

        /// One thing that happened.
        public struct Event: Sendable, CustomStringConvertible {
            /// What can happen.
            public enum Kind: Sendable {
                /// A stage has begun.
                case stage(Stage)
                /// The program's code is called; an observer's for this activity.
                case callout(Callout, activity: Activity? = nil)
            }

            /// What happened.
            public let kind: Kind
            /// How many runs were on the stack, this one included.
            public let depth: Int
            /// The mode of the innermost run.
            public let mode: Mode
            /// When it happened, on the loop's clock.
            public let time: Instant

            /// A line of ``Trace/lines``: what happened, indented by the depth.
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

        /// A recorder without events.
        ///
        /// - Parameter limit: how many events are kept; later ones are not recorded. Zero and negative: none.
        ///
        /// Threads: any.
        public init(limit: Int = 65_536) {
            self.limit = limit
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// What was recorded, the earliest first. Threads: any.
        public var events: [Event] {
            // Copied one by one: an unshared array is changed in place.
            Fork.refuses("Trace.events") ? [] : lock.withLock { recorded.map(\.self) }
        }

        /// The events, a line each, indented by the depth of nesting. Threads: any.
        public var lines: [String] { events.map(\.description) }

        /// Forgets what was recorded; the recording goes on. Threads: any.
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
    /// Threads: the loop's own; from another thread it is logged and ignored. There is no corresponding Core Foundation
    /// function.
    public func startTracing(_ trace: Trace) {
        guard !Fork.refuses("startTracing"), requireOwnThread("startTracing") else { return }
        let former = tracer
        if former == nil { Recording.count(1) }
        tracer = trace
        // Released after the access: the events may hold the last reference to an item, whose deinit is user code.
        withExtendedLifetime(former) {}
    }

    /// Ends what ``startTracing(_:)`` began. What was recorded stays in the recorder. A loop that is not traced is left
    /// as it is.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. There is no corresponding Core Foundation
    /// function.
    public func stopTracing() {
        guard !Fork.refuses("stopTracing"), requireOwnThread("stopTracing") else { return }
        endTracing()
    }

    func endTracing() {
        let former = tracer
        if former != nil { Recording.count(-1) }
        tracer = nil
        withExtendedLifetime(former) {}
    }

    // While no loop of the process is traced or recorded, a stage costs a comparison with a word at a fixed address,
    // and a jump. GRUN_NO_TRACE is for `scripts/trace-cost`, which counts what these two cost.

    @inline(__always) func mark(_ stage: Trace.Stage) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { recordStage(stage) }
        #endif
    }

    @inline(__always) func mark(_ activity: Activity) {
        #if !GRUN_NO_TRACE
            // A run that begins is a change for those who watch the loop, though nothing may be called in it.
            if _slowPath(activity == .entry ? cgrun_is_inspecting() : cgrun_is_tracing()) { recordActivity(activity) }
        #endif
    }

    // Not inlined, with plain arguments, so that they cost the stages no registers.

    @inline(never) private func recordStage(_ stage: Trace.Stage) {
        if tracer != nil { record(.stage(stage)) }
        record(stage)
    }

    @inline(never) private func recordActivity(_ activity: Activity) {
        if activity == .entry { beatAtEntryLocked() }
        recordStage(Trace.Stage(activity))
    }

    func record(_ callout: Trace.Callout, _ activity: Activity?) {
        record(.callout(callout, activity: activity))
    }

    @inline(never) private func record(_ kind: Trace.Event.Kind) {
        guard let tracer, let frame else { return }
        tracer.record(kind, depth: runCountLocked, mode: frame.mode.name)
    }
}
