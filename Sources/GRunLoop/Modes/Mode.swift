// SPDX-License-Identifier: Apache-2.0
// The names of modes.

extension GRunLoop {
    /// The name of a mode. A mode is a set of items and contexts that a run serves together.
    ///
    /// Every name is allowed except an empty name, which ends the process with a message. Names are compared by
    /// content. The corresponding Core Foundation type is `CFRunLoopMode`. The Foundation type is `RunLoop.Mode`.
    public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name, which is never empty.
        public let rawValue: String
        private let kind: Kind

        /// Nearly every call names the default mode or the common modes, so these modes are recognised without
        /// comparing strings.
        private enum Kind {
            case `default`, common, other

            init(_ name: String) {
                self = name == Mode.defaultName ? .default : name == Mode.commonName ? .common : .other
            }
        }

        private static var defaultName: String { "kCFRunLoopDefaultMode" }
        private static var commonName: String { "kCFRunLoopCommonModes" }

        /// Makes a mode of that name. An empty name ends the process, with a message.
        public init(_ name: String) {
            if name.isEmpty { Log.fatal("Mode", "the name of a mode is empty; pass a name, or use .default") }
            rawValue = name
            kind = Kind(name)
        }

        private init(_ name: String, _ kind: Kind) {
            rawValue = name
            self.kind = kind
        }

        /// Makes a mode of that name. An empty name ends the process, with a message.
        public init(rawValue: String) {
            self.init(rawValue)
        }

        /// Makes a mode from a string literal, as in `loop.run(mode: "private")`. An empty name ends the process, with
        /// a message.
        public init(stringLiteral value: String) {
            self.init(value)
        }

        /// Returns whether the two names are equal.
        public static func == (left: Mode, right: Mode) -> Bool {
            left.kind == right.kind && (left.kind != .other || left.rawValue == right.rawValue)
        }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) {
            if kind == .other { hasher.combine(rawValue) } else { hasher.combine(kind) }
        }

        /// The name.
        public var description: String { rawValue }

        // These are computed properties, because each access to a stored static property first checks whether it is
        // initialised.

        /// The mode in which a program normally runs its loop. It is always one of the common modes. Core Foundation's
        /// constant is `kCFRunLoopDefaultMode`.
        public static var `default`: Mode { Mode(defaultName, .default) }

        /// The name of all common modes together. An item that is added to this name joins each common mode. The name
        /// is not a mode itself, and cannot be run. Core Foundation's constant is `kCFRunLoopCommonModes`.
        public static var common: Mode { Mode(commonName, .common) }

        /// The mode for tracking a drag or a scroll, while items of the default mode wait. To make it a common mode,
        /// call ``GRunLoop/addCommonMode(_:)`` or ``GRunLoop/push(ambientMode:)``. AppKit's constant is
        /// `NSEventTrackingRunLoopMode`.
        public static var tracking: Mode { Mode("GRunLoopTrackingMode", .other) }
    }
}
