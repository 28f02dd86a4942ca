// SPDX-License-Identifier: Apache-2.0
// Modes by name.

extension GRunLoop {
    /// The name of a mode: a set of items and contexts that are served together.
    ///
    /// Any name makes a mode. Names compare by content. An empty name is an error of the program's, and ends the
    /// process. The corresponding Core Foundation type is `CFRunLoopMode`, Foundation's is `RunLoop.Mode`.
    public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name, which is never empty.
        public let rawValue: String
        private let kind: Kind

        /// The default and the common modes, which nearly every call names, are recognised without comparing strings.
        private enum Kind {
            case `default`, common, other

            init(_ name: String) {
                self = name == Mode.defaultName ? .default : name == Mode.commonName ? .common : .other
            }
        }

        private static var defaultName: String { "kCFRunLoopDefaultMode" }
        private static var commonName: String { "kCFRunLoopCommonModes" }

        /// A mode of that name. An empty name ends the process, with a message.
        public init(_ name: String) {
            if name.isEmpty { Log.fatal("Mode", "the name of a mode is empty; give it a name, or use .default") }
            rawValue = name
            kind = Kind(name)
        }

        private init(_ name: String, _ kind: Kind) {
            rawValue = name
            self.kind = kind
        }

        /// A mode of that name. An empty name ends the process, with a message.
        public init(rawValue: String) {
            self.init(rawValue)
        }

        /// A mode of that name, as in `loop.run(mode: "private")`. An empty name ends the process, with a message.
        public init(stringLiteral value: String) {
            self.init(value)
        }

        /// Whether the names read the same.
        public static func == (left: Mode, right: Mode) -> Bool {
            left.kind == right.kind && (left.kind != .other || left.rawValue == right.rawValue)
        }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) {
            if kind == .other { hasher.combine(rawValue) } else { hasher.combine(kind) }
        }

        /// The name.
        public var description: String { rawValue }

        // Computed properties: each access to a stored one first calls a function to check that it was initialised.

        /// The mode in which a program spends its idle time. It is a common mode from the beginning.
        /// `kCFRunLoopDefaultMode`.
        public static var `default`: Mode { Mode(defaultName, .default) }

        /// The name of all common modes together: what is added here is served in each of them. It is no mode itself,
        /// and cannot be run. `kCFRunLoopCommonModes`.
        public static var common: Mode { Mode(commonName, .common) }

        /// For tracking a drag or a scroll: items of the default mode wait meanwhile. It is not common until it is made
        /// so by ``GRunLoop/addCommonMode(_:)``. AppKit's `NSEventTrackingRunLoopMode`.
        public static var tracking: Mode { Mode("GRunLoopTrackingMode", .other) }
    }
}
