// SPDX-License-Identifier: Apache-2.0
// The report of a stall monitor.

public import GRunLoop

extension GRunLoop {
    /// Describes a callout that takes too long, with the callout's duration and a backtrace of the loop's thread.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public struct StallReport: Sendable, CustomStringConvertible {
        /// The kinds of callouts that can stall.
        public enum Callout: Hashable, Sendable {
            /// An observer of this activity.
            case observer(Activity)
            /// A block.
            case block
            /// A version-0 source.
            case source
            /// A timer, or a delayed perform.
            case timer
            /// A descriptor source, or the source of a signal, a child or a message port.
            case descriptor
            /// A drain of the main dispatch queue: its blocks, and jobs of the main actor.
            case mainQueue
            /// A dispatch of a context by GLib in a run of the loop, for example for GTK, GIO or D-Bus.
            case context
            /// A closure of an idle queue.
            case idleWork
            /// The receiver of a port.
            case port
            /// A callback of the host, such as an idle function of GTK. The callback is not an item of the loop.
            case host
            /// An unknown callout: either it began before the loop was watched, or it cannot be read because another
            /// thread holds the loop's lock.
            case unknown
        }

        /// The caller of the loop's items: the loop itself or a host.
        public enum Driver: Hashable, Sendable {
            /// A run of the loop.
            case loop
            /// A foreign main loop, such as the main loop of GTK.
            case host
        }

        /// The callout that does not return. If callouts are nested, this is the innermost callout.
        public let callout: Callout
        /// The label of the item. For a context or a callback of the host, this is the name of the GSource that GLib
        /// dispatches. Nil if the item has no label, or the GSource has no name.
        public let label: String?
        /// The item in a few words, such as "descriptor 5" or "every 0.016 s". Nil if the callout has no item, or if
        /// the item is no longer in the mode.
        public let item: String?
        /// The mode of the innermost run. Nil if no run is on the stack, as in a callback of the host, or if the mode
        /// is not known.
        public let mode: Mode?
        /// How many runs were on the stack.
        public let depth: Int
        /// The caller of the item: the loop itself or a host.
        public let driver: Driver
        /// Whether the callout has returned.
        public private(set) var isOver: Bool
        /// How long the callout has taken so far or, if ``isOver`` is true, in total. The value is approximate. The
        /// monitor may notice the callout's beginning late, by up to an eighth of the threshold. It may notice the
        /// callout's end 5 ms late, or later if a handler is still being called.
        public private(set) var duration: Duration

        private let stack: Stack?

        init(_ sight: StallSight, _ details: CalloutDetails, _ sample: StallSample?, after span: Nanoseconds) {
            let isHosts = sight.isHosts(depth: sample?.depth ?? 0)
            callout = isHosts ? .host : sight.callout
            label = isHosts || sight.callout == .context ? sample?.source : details.label?.text
            item = isHosts ? nil : details.item?.text
            mode = sight.mode
            depth = details.depth
            driver = isHosts ? .host : sight.driver
            isOver = false
            duration = .nanoseconds(span)
            stack = sample?.stack
        }

        func ended(after span: Nanoseconds) -> Self {
            var report = self
            report.isOver = true
            report.duration = .nanoseconds(span)
            return report
        }

        /// The functions on the thread's stack when the stall was noticed, the innermost first. The array has at most
        /// 96 frames. It is empty if no backtrace could be taken: see ``StallMonitor/hasFrames``.
        ///
        /// The names of the functions are looked up at the first access to this property, which takes some
        /// milliseconds. With glibc 2.35 or later, this lookup does not wait for a thread that stalls inside
        /// `dlopen()`.
        public var frames: [StackFrame] { stack?.frames ?? [] }

        /// The callout and its duration on one line, without the frames.
        public var summary: String {
            let names = [Self.name(of: callout), label.map(quoted), item.map { "(\($0))" }].compactMap(\.self)
            let place = mode.map { " in mode \(onOneLine($0.rawValue))" } ?? ""
            return "\(isOver ? "has returned" : "has not returned") after \(duration.inMilliseconds) ms: "
                + "\(names.joined(separator: " "))\(place), driven by \(driver == .loop ? "the loop" : "a host")"
        }

        /// The ``summary``, followed by a line for each frame unless the stall is over.
        public var description: String {
            isOver ? summary : ([summary] + frames.map { "    \($0)" }).joined(separator: "\n")
        }

        /// The name of a callout's kind. Each name is a literal: composing a string would allocate memory, and the
        /// stalled thread may hold the allocator's lock.
        static func name(of callout: Callout) -> String {
            switch callout {
            case .observer(.entry): "an observer of entry"
            case .observer(.beforeTimers): "an observer of beforeTimers"
            case .observer(.beforeSources): "an observer of beforeSources"
            case .observer(.beforeWaiting): "an observer of beforeWaiting"
            case .observer(.afterWaiting): "an observer of afterWaiting"
            case .observer: "an observer of exit"
            case .block: "a block"
            case .source: "a source"
            case .timer: "a timer"
            case .descriptor: "a descriptor source"
            case .mainQueue: "the main dispatch queue"
            case .context: "a GLib source"
            case .idleWork: "idle work"
            case .port: "a port"
            case .host: "a callback of the host"
            case .unknown: "a callout"
            }
        }
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
