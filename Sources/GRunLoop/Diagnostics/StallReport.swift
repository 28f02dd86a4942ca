// SPDX-License-Identifier: Apache-2.0
// What a stall monitor tells.

extension GRunLoop {
    /// A callout that does not return for longer than it may: what it is, for how long, and where its thread stands.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public struct StallReport: Sendable, CustomStringConvertible {
        /// What the loop had called.
        public enum Callout: Hashable, Sendable {
            /// An observer of this activity.
            case observer(Activity)
            /// A block.
            case block
            /// A version-0 source.
            case source
            /// A timer, or a delayed perform.
            case timer
            /// A descriptor source, or that of a signal, a child or a message port.
            case descriptor
            /// A drain of the main dispatch queue: its blocks, and jobs of the main actor.
            case mainQueue
            /// GLib's dispatch of a context, in a run of the loop: GTK, GIO, D-Bus.
            case context
            /// A closure of an idle queue.
            case idleWork
            /// The receiver of a port.
            case port
            /// A callback of a host's own: it is no item of the loop.
            case host
            /// None that is known: the loop was watched from a later moment on, or another thread keeps its lock.
            case unknown
        }

        /// Who calls the loop's items.
        public enum Driver: Hashable, Sendable {
            /// A run of the loop.
            case loop
            /// A foreign main loop, as GTK's.
            case host
        }

        /// What does not return; the innermost one, where callouts are nested.
        public let callout: Callout
        /// The label of its item; of what GLib dispatches the name of its GSource. Nil if it has none.
        public let label: String?
        /// What is known of the item, in a few words: "descriptor 5", "every 0.016 s". Nil if it is no item, or if it
        /// was taken out of the mode meanwhile.
        public let item: String?
        /// The mode of the innermost run; nil without one, for a host's own callback.
        public let mode: Mode?
        /// How many runs were on the stack.
        public let depth: Int
        /// Who called it.
        public let driver: Driver
        /// Whether it has returned meanwhile.
        public private(set) var isOver: Bool
        /// How long it has taken so far or, if it is over, in all. It may have begun earlier, by an eighth of the
        /// threshold, and have ended earlier than is known, by 5 ms and the time that handlers took meanwhile.
        public private(set) var duration: Duration

        private let stack: Stack?

        init(_ sight: StallSight, _ details: StallDetails, _ sample: StallSample?, after span: Nanoseconds) {
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

        /// Where the thread stood when the stall was noticed, the innermost function first, 96 at most. Empty if it
        /// could not be asked: see ``StallMonitor/hasFrames``.
        ///
        /// Names are looked up at the first call, which takes some milliseconds. With glibc 2.35 or later, the first
        /// call does not wait for a thread that stalls inside `dlopen()`.
        public var frames: [StackFrame] { stack?.frames ?? [] }

        /// What has stalled and for how long, on one line, without the frames.
        public var summary: String {
            let names = [Self.name(of: callout), label.map(quoted), item.map { "(\($0))" }].compactMap(\.self)
            let place = mode.map { " in mode \(onOneLine($0.rawValue))" } ?? ""
            return "\(isOver ? "has returned" : "does not return") after \(duration.inMilliseconds) ms: "
                + "\(names.joined(separator: " "))\(place), driven by \(driver == .loop ? "the loop" : "a host")"
        }

        /// The ``summary`` and, unless it is over, the frames, a line each.
        public var description: String {
            isOver ? summary : ([summary] + frames.map { "    \($0)" }).joined(separator: "\n")
        }

        /// Literals only. A string that is put together needs memory, and the stalled thread may hold the allocator's
        /// lock.
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
            case .context: "a dispatch of GLib's"
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
