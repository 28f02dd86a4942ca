// SPDX-License-Identifier: Apache-2.0
// Modes by name.

extension GRunLoop {
    /// The name of a mode: a set of items and contexts that are served together.
    ///
    /// Any name makes a mode. Names compare by content; they can have any length but not none: an empty name is a programmer
    /// error and traps. The corresponding Core Foundation type is `CFRunLoopMode`.
    public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
        public let rawValue: String

        /// A mode of that name. An empty name traps.
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

        /// For tracking a drag or a scroll: items of the default mode wait meanwhile. It is not common until it is made so by
        /// ``GRunLoop/addCommonMode(_:)``. AppKit's `NSEventTrackingRunLoopMode`.
        public static let tracking = Mode("GRunLoopTrackingMode")
    }
}
