// SPDX-License-Identifier: Apache-2.0
// Version-1 sources: a descriptor and the conditions that are waited for.

import CGRun

extension GRunLoop {
    /// A source that is performed when its descriptor is readable, writable, and so on.
    ///
    /// It is level-triggered: it is performed again in every pass in which the condition still holds. The loop does not read
    /// from the descriptor. Remove or invalidate the source before closing the descriptor. Two sources may watch one
    /// descriptor for different conditions; of two for the same condition the later one gets it. Let the closure hold whoever owns the
    /// descriptor: Swift lets go of an object after its last use, not at the end of its scope.
    ///
    /// A closure that runs a nested loop in one of the source's modes while the condition still holds is called again there, and again:
    /// read first, or remove the source for as long.
    ///
    /// A closure that drains another source's descriptor may leave that one a spurious call, as in every level-triggered loop:
    /// use descriptors that do not block. A descriptor source is in one loop at a time, and in any number of its modes.
    ///
    /// Threads: every call, any thread. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1;
    /// the GLib function is `g_unix_fd_source_new`.
    public final class DescriptorSource: @unchecked Sendable {
        /// What can be waited for and what can be found. The names of `poll(2)`.
        public struct Conditions: OptionSet, Hashable, Sendable, CustomStringConvertible {
            public let rawValue: UInt32

            public init(rawValue: UInt32) {
                self.rawValue = rawValue
            }

            /// There is something to read, or the end of the stream (`POLLIN`).
            public static let readable = Conditions(rawValue: 1 << 0)
            /// Writing would not block (`POLLOUT`).
            public static let writable = Conditions(rawValue: 1 << 1)
            /// There is an exceptional condition, as out-of-band data (`POLLPRI`).
            public static let priority = Conditions(rawValue: 1 << 2)
            /// The other side has closed (`POLLHUP`). Reported to every source of the descriptor, asked for or not.
            public static let hangUp = Conditions(rawValue: 1 << 3)
            /// The descriptor has failed (`POLLERR`). Reported to every source of the descriptor, asked for or not.
            public static let error = Conditions(rawValue: 1 << 4)

            private static let table: [(Conditions, UInt32, String)] = [
                (.readable, EPOLLIN.rawValue, "readable"), (.writable, EPOLLOUT.rawValue, "writable"),
                (.priority, EPOLLPRI.rawValue, "priority"), (.hangUp, EPOLLHUP.rawValue, "hangUp"),
                (.error, EPOLLERR.rawValue, "error"),
            ]

            public var description: String {
                Self.table.filter { contains($0.0) }.map(\.2).joined(separator: "+")
            }

            var epollMask: UInt32 { Self.table.reduce(0) { contains($1.0) ? $0 | $1.1 : $0 } }

            /// What a source with these conditions has been told about when it was performed.
            var serviceMask: UInt32 { union([.hangUp, .error]).epollMask }

            init(epollEvents events: UInt32) {
                self = Self.table.reduce(into: []) { if events & $1.1 != 0 { $0.insert($1.0) } }
            }
        }

        public let descriptor: Int32
        public let conditions: Conditions

        let guardian = Guardian()
        // Guarded by the guardian.
        @exclusivity(unchecked) unowned(unsafe) var loop: GRunLoop?
        @exclusivity(unchecked) var modes: [ModeState] = []
        @exclusivity(unchecked) var isCommonItem = false
        @exclusivity(unchecked) private var valid = true
        let handler: @Sendable (DescriptorSource, Conditions) -> Void

        /// - Parameters:
        ///   - descriptor: an open descriptor that can be polled. It stays the caller's: the source never closes it.
        ///   - conditions: what to wait for; ``Conditions/hangUp`` and ``Conditions/error`` are always waited for.
        ///   - handler: called on the loop's thread with what has been found. It is kept until the source itself goes.
        public init(
            descriptor: Int32, conditions: Conditions = .readable,
            handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) {
            self.descriptor = descriptor
            self.conditions = conditions
            self.handler = handler
        }

        /// False from the call of ``invalidate()`` on.
        public var isValid: Bool { guardian.withLock { valid } }

        /// Takes the source out of every mode, for good. It is not performed any more, also not for an event that was found already.
        ///
        /// The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            // Returned out of the lock: the deinit of what the closure holds is user code.
            _ = guardian.withLock { () -> [Any] in
                guard valid else { return [] }
                valid = false
                return loop?.removeEverywhereLocked(self) ?? []
            }
        }

        var isValidLocked: Bool { valid }
    }
}

extension GRunLoop.DescriptorSource: CustomStringConvertible {
    public var description: String {
        "<GRunLoop.DescriptorSource \(hexAddress(self))>{valid = \(yesNo(isValid)), "
            + "context = {version = 1, descriptor = \(descriptor), conditions = \(conditions), perform = closure}}"
    }
}
