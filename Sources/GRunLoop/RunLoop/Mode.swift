// SPDX-License-Identifier: Apache-2.0
// Modes by name.

extension GRunLoop {
    /// The name of a mode: a set of items and contexts that are served together.
    ///
    /// Any name makes a mode. Names compare by content; they can have any length but not none: an empty name is a
    /// programmer error and traps. The corresponding Core Foundation type is `CFRunLoopMode`.
    public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
        public let rawValue: String
        private let kind: Kind

        /// The two that nearly every call names are told apart without looking at their letters.
        private enum Kind {
            case `default`, common, other

            init(_ name: String) {
                self = name == Mode.defaultName ? .default : name == Mode.commonName ? .common : .other
            }
        }

        private static var defaultName: String { "kCFRunLoopDefaultMode" }
        private static var commonName: String { "kCFRunLoopCommonModes" }

        /// A mode of that name. An empty name traps.
        public init(_ name: String) {
            precondition(
                !name.isEmpty, "GRunLoop.Mode: the name of a mode is empty; give it a name, or use .default")
            rawValue = name
            kind = Kind(name)
        }

        private init(_ name: String, _ kind: Kind) {
            rawValue = name
            self.kind = kind
        }

        public init(rawValue: String) {
            self.init(rawValue)
        }

        public init(stringLiteral value: String) {
            self.init(value)
        }

        public static func == (left: Mode, right: Mode) -> Bool {
            left.kind == right.kind && (left.kind != .other || left.rawValue == right.rawValue)
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(rawValue)
        }

        public var description: String { rawValue }

        // Computed: a stored one is asked for whether it was made already, each time, by a call.

        /// The mode in which a program spends its idle time. `kCFRunLoopDefaultMode`.
        public static var `default`: Mode { Mode(defaultName, .default) }

        /// Not a mode to run, but the name of all common modes together: what is added here is served in each of them.
        /// `kCFRunLoopCommonModes`.
        public static var common: Mode { Mode(commonName, .common) }

        /// For tracking a drag or a scroll: items of the default mode wait meanwhile. It is not common until it is made
        /// so by ``GRunLoop/addCommonMode(_:)``. AppKit's `NSEventTrackingRunLoopMode`.
        public static var tracking: Mode { Mode("GRunLoopTrackingMode", .other) }
    }
}
