// SPDX-License-Identifier: Apache-2.0
// The stages of a run that an observer can watch.

extension GRunLoop {
    /// The stages of a run that an ``Observer`` can watch.
    ///
    /// The raw values are Core Foundation's. The corresponding Core Foundation type is `CFRunLoopActivity`.
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The activities as bits, which are those of `CFRunLoopActivity`.
        public let rawValue: UInt

        /// Creates the activities from their bits. Unknown bits are kept, and such an activity never comes.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Once, before the first pass of a run. `kCFRunLoopEntry`.
        public static let entry = Activity(rawValue: 1 << 0)
        /// In each pass, before anything else. No timer fires between this and ``beforeSources``.
        /// `kCFRunLoopBeforeTimers`.
        public static let beforeTimers = Activity(rawValue: 1 << 1)
        /// In each pass, before the version-0 sources are performed. `kCFRunLoopBeforeSources`.
        public static let beforeSources = Activity(rawValue: 1 << 2)
        /// The loop is about to sleep. Not in a pass that does not wait. `kCFRunLoopBeforeWaiting`.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop has woken up. Not in a pass that does not wait. `kCFRunLoopAfterWaiting`.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// Once, after the last pass of a run, whatever its result. `kCFRunLoopExit`.
        public static let exit = Activity(rawValue: 1 << 7)
        /// Every activity, including those of later versions. `kCFRunLoopAllActivities`.
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
