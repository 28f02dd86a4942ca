// SPDX-License-Identifier: Apache-2.0
// The stages of a run that an observer can watch.

extension GRunLoop {
    /// The stages of a run that an ``Observer`` can watch.
    ///
    /// The raw values are the same as in Core Foundation. The corresponding Core Foundation type is
    /// `CFRunLoopActivity`.
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The activities as bits.
        public let rawValue: UInt

        /// Creates activities from their bits. Unknown bits are kept, but have no meaning.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// A run begins. This stage comes before the run's first pass. `kCFRunLoopEntry`.
        public static let entry = Activity(rawValue: 1 << 0)
        /// A pass begins. No timer fires between this stage and ``beforeSources``. `kCFRunLoopBeforeTimers`.
        public static let beforeTimers = Activity(rawValue: 1 << 1)
        /// A pass is about to perform version-0 sources. `kCFRunLoopBeforeSources`.
        public static let beforeSources = Activity(rawValue: 1 << 2)
        /// The loop is about to sleep. A pass that does not wait skips this stage. `kCFRunLoopBeforeWaiting`.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop has woken up. A pass that does not wait skips this stage. `kCFRunLoopAfterWaiting`.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// A run ends. This stage comes after the run's last pass, for every result of the run. `kCFRunLoopExit`.
        public static let exit = Activity(rawValue: 1 << 7)
        /// Every activity, including activities that a later version adds. `kCFRunLoopAllActivities`.
        public static let all = Activity(rawValue: 0x0FFF_FFFF)

        static let named: [(Activity, String)] = [
            (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
            (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
        ]

        /// The names of the activities, joined by `+`.
        public var description: String {
            if self == .all { return "all" }
            return Self.named.filter { contains($0.0) }.map(\.1).joined(separator: "+")
        }
    }
}
