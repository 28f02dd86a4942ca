// SPDX-License-Identifier: Apache-2.0
// The public trace, which records the stages and callouts of a loop.

import CGRun
public import GRunLoop

extension GRunLoop {
    /// Records the stages and callouts of a loop in order, up to a limit.
    ///
    /// A trace records nothing until ``GRunLoop/startTracing(_:)`` is called. The trace keeps the items of its events
    /// alive. While no loop is traced, tracing costs two instructions for each stage.
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
            /// Only the main dispatch queue is checked: stage 6.
            case mainQueueCheck
            /// Observers of ``GRunLoop/Activity/beforeWaiting`` are called: stage 7.
            case beforeWaiting
            /// The loop sleeps, or checks without sleeping which items are ready: stage 8.
            case wait
            /// Observers of ``GRunLoop/Activity/afterWaiting`` are called: stage 9.
            case afterWaiting
            /// A ready item is serviced: stage 10.
            case service
            /// The run ends.
            case exit

            /// All stages, in their order.
            static let all: [Self] = [
                .entry, .beforeTimers, .beforeSources, .blocks, .sources, .mainQueueCheck, .beforeWaiting, .wait,
                .afterWaiting, .service, .exit,
            ]

            init(_ stage: PassStage) { self = Self.all[Int(stage.rawValue)] }
        }

        /// The kinds of callouts. A case has the item that is called, if the callout has one.
        public enum Callout: Sendable, CustomStringConvertible {
            /// An observer's closure.
            case observer(Observer)
            /// A block.
            case block
            /// The closure of a version-0 source.
            case source(Source)
            /// A timer's closure.
            case timer(Timer)
            /// A delayed perform: the closure of ``GRunLoop/perform(after:_:)``, the end of a sleep, or the time limit
            /// of a request to a message port.
            case delayedPerform
            /// The closure of a descriptor source. The callouts of a ``SignalSource``, a ``ChildSource`` or a message
            /// port also have this kind, with the descriptor source that the item uses.
            case descriptor(DescriptorSource)
            /// A drain of the main dispatch queue.
            case mainQueue
            /// A dispatch of one of GLib's contexts.
            case context
            /// A closure of an idle queue.
            case idleWork
            /// The handler of a port, or the task that awaits its messages.
            case port(Port)

            /// Returns nil if the mark does not represent a callout. Call this initializer during the callout, because
            /// the mark does not retain the item.
            init?(_ mark: CalloutMark) {
                let item = mark.object
                switch mark.kind {
                case .block: self = .block
                case .mainQueue: self = .mainQueue
                case .context: self = .context
                case .idleWork: self = .idleWork
                case .timer:
                    if let timer = item as? Timer, !timer.isPerform {
                        self = .timer(timer)
                    } else {
                        self = .delayedPerform
                    }
                case .observer:
                    guard let observer = item as? Observer else { return nil }
                    self = .observer(observer)
                case .source:
                    guard let source = item as? Source else { return nil }
                    self = .source(source)
                case .descriptor:
                    guard let source = item as? DescriptorSource else { return nil }
                    self = .descriptor(source)
                case .port:
                    guard let port = item as? Port else { return nil }
                    self = .port(port)
                case nil, .wakeUp: return nil
                }
            }

            /// The callout in a few words, with the label that the item has now.
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

        /// A recorded event: the beginning of a stage, or a callout.
        public struct Event: Sendable, CustomStringConvertible {
            /// The kinds of events.
            public enum Kind: Sendable {
                /// A stage has begun.
                case stage(Stage)
                /// The program's code is called. If an observer is called, `activity` is the activity that the observer
                /// is notified of.
                case callout(Callout, activity: Activity? = nil)
            }

            /// The stage or the callout that was recorded.
            public let kind: Kind
            /// How many runs were on the stack, including the innermost run, which recorded the event.
            public let depth: Int
            /// The mode of the innermost run.
            public let mode: Mode
            /// The time of the event, on the loop's clock.
            public let time: Instant

            /// A line of ``Trace/lines``: a text for the event, indented by the depth.
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

        /// Makes a trace without events.
        ///
        /// - Parameter limit: how many events the trace records. When the trace has this many events, later events are
        ///   not recorded. With zero or a negative number, the trace records no event.
        ///
        /// Threads: any.
        public init(limit: Int = 65_536) {
            self.limit = limit
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// The recorded events, the oldest first. Threads: any.
        public var events: [Event] {
            // Copy each element. If the result shared the array's memory, the next append would have to copy all
            // events.
            Fork.refuses("Trace.events") ? [] : lock.withLock { recorded.map(\.self) }
        }

        /// A line for each event, indented by the depth of nesting. Threads: any.
        public var lines: [String] { events.map(\.description) }

        /// Removes all events. The recording continues. Threads: any.
        public func removeAll() {
            guard !Fork.refuses("Trace.removeAll") else { return }
            // Release the events after unlocking. An event may own the last reference to an item, and the item's deinit
            // is user code.
            _ = lock.withLock { () -> [Event] in
                defer { recorded = [] }
                return recorded
            }
        }

        /// Records an event of the loop's innermost run. Call this function on the loop's thread.
        func record(_ kind: Event.Kind, of loop: GRunLoop) {
            let depth = loop.runCountLocked
            guard depth > 0 else { return }
            let event = Event(kind: kind, depth: depth, mode: loop.servedMode.name, time: GRunLoop.now)
            lock.withLock { if recorded.count < limit { recorded.append(event) } }
        }
    }

    /// Begins to record this loop's stages and callouts in `trace`. If the loop already has a trace, `trace` replaces
    /// it.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. There is no corresponding
    /// Core Foundation function.
    public func startTracing(_ trace: Trace) {
        guard isCalledOnOwnThread(by: "startTracing") else { return }
        diagnostics.begin(trace)
        makesEveryPass = true
    }

    /// Stops tracing this loop. The events stay in the trace. Does nothing if the loop is not traced.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. There is no corresponding
    /// Core Foundation function.
    public func stopTracing() {
        guard isCalledOnOwnThread(by: "stopTracing") else { return }
        diagnostics.endTracing()
        makesEveryPass = false
    }
}
