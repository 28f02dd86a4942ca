// SPDX-License-Identifier: Apache-2.0
// What a run is told and what it answers: modes, activities, results.

extension GRunLoop {
    /// The name of a mode: a set of items and contexts that are served together.
    ///
    /// Any name makes a mode. Names compare by content; they can have any length but not none: an empty name is a programmer
    /// error and traps. The corresponding Core Foundation type is `CFRunLoopMode`.
    public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
        public let rawValue: String

        public init(_ name: String) {
            precondition(
                !name.isEmpty, "GRunLoop.Mode: the name of a mode is empty; give it a name, or use .default")
            rawValue = name
        }

        public init(rawValue: String) {
            self.init(rawValue)
        }

        public init(stringLiteral value: String) {
            self.init(value)
        }

        public var description: String { rawValue }

        /// The mode in which a program spends its idle time. `kCFRunLoopDefaultMode`.
        public static let `default` = Mode("kCFRunLoopDefaultMode")

        /// Not a mode to run, but the name of all common modes together: what is added here is served in each of them.
        /// `kCFRunLoopCommonModes`.
        public static let common = Mode("kCFRunLoopCommonModes")

        /// A mode for tracking a drag or a scroll. It becomes a common mode when it is made one, by
        /// ``GRunLoop/addCommonMode(_:)``.
        public static let tracking = Mode("GRunLoopTrackingMode")
    }

    /// The stages of a run that an ``Observer`` can watch. The raw values are Core Foundation's (`CFRunLoopActivity`).
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Once, before the first pass of a run.
        public static let entry = Activity(rawValue: 1 << 0)
        /// In each pass, before anything else. No timer fires between this and ``beforeSources``.
        public static let beforeTimers = Activity(rawValue: 1 << 1)
        /// In each pass, before the version-0 sources are performed.
        public static let beforeSources = Activity(rawValue: 1 << 2)
        /// The loop is about to sleep. Left out in a pass that only polls.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop has woken up. Left out in a pass that only polls.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// Once, after the last pass of a run, whatever its result.
        public static let exit = Activity(rawValue: 1 << 7)
        /// Every activity, those of later versions included.
        public static let all = Activity(rawValue: 0x0FFF_FFFF)

        static let named: [(Activity, String)] = [
            (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
            (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
        ]

        public var description: String {
            if self == .all { return "all" }
            return Self.named.filter { contains($0.0) }.map(\.1).joined(separator: "+")
        }
    }

    /// Why a run returned. The raw values are Core Foundation's (`CFRunLoopRunResult`).
    public enum RunResult: Int32, Hashable, Sendable, CustomStringConvertible {
        /// The mode has no source, no timer, no block and no added context left, or it never existed.
        case finished = 1
        /// ``GRunLoop/stop()`` was called on this run.
        case stopped = 2
        /// The time given has passed.
        case timedOut = 3
        /// A source was handled, and the run was asked to return after that.
        case handledSource = 4

        public var description: String {
            switch self {
            case .finished: "finished"
            case .stopped: "stopped"
            case .timedOut: "timedOut"
            case .handledSource: "handledSource"
            }
        }
    }
}
