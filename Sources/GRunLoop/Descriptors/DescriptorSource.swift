// SPDX-License-Identifier: Apache-2.0
// Version-1 sources: a descriptor and the conditions that are waited for.

extension GRunLoop {
    /// A source that is performed when its descriptor is readable, writable, and so on.
    ///
    /// It is level-triggered: it is performed again in every pass in which the condition still holds. The loop does not
    /// read from the descriptor. Remove or invalidate the source before closing the descriptor. Two sources may watch
    /// one descriptor for different conditions; of two for the same condition the later one gets it. Let the closure
    /// hold the object that owns the descriptor: Swift lets go of an object after its last use, not at the end of its
    /// scope.
    ///
    /// Also remove or invalidate the source before `dup2(2)` gives the number another file, and add it again
    /// afterwards. Otherwise the loop goes on watching the old file. The loop usually notices the new file when an
    /// event of the old file comes, and always when a source of the number is added, changed or removed: it logs a
    /// warning, drops the event, and watches the new file. If no copy of the old file is open, no such event comes. If
    /// the new file cannot be polled, as a regular file or `/dev/null`, the closure is not called for the new file.
    ///
    /// A closure that runs a nested loop in one of the source's modes while the condition still holds is called again
    /// there, and again: read first, or remove the source for as long.
    ///
    /// A closure that drains another source's descriptor may leave that one a spurious call, as in every
    /// level-triggered loop: use descriptors that do not block. A descriptor source is in one loop at a time, and in
    /// any number of its modes.
    ///
    /// What else a descriptor stands for is a kind of its own: a ``SignalSource``, a ``ChildSource``.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1; the GLib
    /// function is `g_unix_fd_source_new`.
    public class DescriptorSource: @unchecked Sendable {
        /// What can be waited for and what can be found. The bits are those of `poll(2)`, which are those of `epoll(7)`
        /// and GLib. The corresponding GLib type is `GIOCondition`.
        public struct Conditions: OptionSet, Hashable, Sendable, CustomStringConvertible {
            /// The conditions as bits.
            public let rawValue: UInt32

            /// The conditions that those bits stand for. A source takes no notice of bits that stand for none.
            public init(rawValue: UInt32) {
                self.rawValue = rawValue
            }

            /// There is something to read, or the end of the stream (`POLLIN`).
            public static let readable = Conditions(rawValue: 1 << 0)
            /// Writing would not block (`POLLOUT`).
            public static let writable = Conditions(rawValue: 1 << 2)
            /// There is an exceptional condition, as out-of-band data (`POLLPRI`).
            public static let priority = Conditions(rawValue: 1 << 1)
            /// The other side has closed (`POLLHUP`). Reported to every source of the descriptor, asked for or not.
            public static let hangUp = Conditions(rawValue: 1 << 4)
            /// The descriptor has failed (`POLLERR`). Reported to every source of the descriptor, asked for or not.
            public static let error = Conditions(rawValue: 1 << 3)

            /// The names of the conditions, joined by `+`.
            public var description: String {
                let names: [(Conditions, String)] = [
                    (.readable, "readable"), (.writable, "writable"), (.priority, "priority"), (.hangUp, "hangUp"),
                    (.error, "error"),
                ]
                return names.filter { contains($0.0) }.map(\.1).joined(separator: "+")
            }

            /// The conditions to report for epoll's `events`: those that are waited for, and failures.
            func happened(in events: UInt32) -> Conditions {
                intersection(Self(rawValue: events)).union(Self(rawValue: events).intersection([.hangUp, .error]))
            }
        }

        /// The descriptor that is watched. It stays the caller's: the source never closes it.
        ///
        /// Threads: any. The corresponding part of Core Foundation's is the `getPort` of a source's context.
        public let descriptor: Int32
        var isCommonItem = false
        var isValidLocked = true
        // All conditions fit into a byte. Beside the flags, it keeps the object at 72 bytes, in malloc's class of 80;
        // one byte more costs 96.
        @exclusivity(unchecked) private var conditionBits: UInt8
        /// With the guardian held.
        var conditionsLocked: Conditions { Conditions(rawValue: UInt32(conditionBits)) }

        /// What the source waits for. ``Conditions/hangUp`` and ``Conditions/error`` come unasked, also where this is
        /// empty: a descriptor that has hung up is reported until the source is removed.
        ///
        /// It can be changed at any time, as for a socket that waits for ``Conditions/writable`` only while it has
        /// something to write. A condition that is taken away is not reported any more, also if it was found already;
        /// where another thread takes it away, a call that has begun may still have it. One that is added is reported
        /// if it holds now, and a sleeping loop notices. A change costs one system call for each mode that the source
        /// is in; there is none if the kernel watches for the same as before. That the descriptor was closed meanwhile
        /// is logged. Bits that no loop can wait for are dropped.
        ///
        /// Of a ``SignalSource`` and of a ``ChildSource`` it stays: a change is logged and ignored.
        ///
        /// Threads: any. The corresponding Core Foundation functions are `CFFileDescriptorEnableCallBacks` and
        /// `CFFileDescriptorDisableCallBacks`, GLib's is `g_source_modify_unix_fd`.
        public var conditions: Conditions {
            get { Fork.isChild ? conditionsLocked : guardian.withLock { conditionsLocked } }
            set {
                guard !Fork.refuses("DescriptorSource.conditions") else { return }
                guard !ownsDescriptor else {
                    return Log.misuse(
                        "DescriptorSource.conditions",
                        "the descriptor of a \(subject.kind) source is its own, and what it waits for stays; add it "
                            + "and remove it instead")
                }
                change(to: newValue)
            }
        }

        /// Guards the flags and what follows.
        let guardian = Guardian()
        @exclusivity(unchecked) private var places = Places<Unmanaged<ModeState>>()
        let handler: @Sendable (DescriptorSource, Conditions) -> Void
        /// What the handler holds, if that belongs to an actor.
        let confined: Confined?

        /// A source that is in no loop yet, and may be added to any. Whether its descriptor can be watched turns out
        /// then.
        ///
        /// - Parameters:
        ///   - descriptor: an open descriptor that can be polled. It stays the caller's: the source never closes it.
        ///   - conditions: what to wait for; ``Conditions/hangUp`` and ``Conditions/error`` are always waited for.
        ///   - handler: called on the loop's thread with what has been found. It is kept until the source itself goes.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`, GLib's is
        /// `g_unix_fd_source_new`.
        public convenience init(
            descriptor: Int32, conditions: Conditions = .readable,
            handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) {
            self.init(descriptor, conditions, confined: nil, handler)
        }

        init(
            _ descriptor: Int32, _ conditions: Conditions, confined: Confined?,
            _ handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) {
            self.descriptor = descriptor
            conditionBits = Self.bits(of: conditions)
            self.handler = handler
            self.confined = confined
        }

        /// Without those that no loop can wait for.
        private static func bits(of conditions: Conditions) -> UInt8 { UInt8(conditions.rawValue & 0x1F) }

        func change(to conditions: Conditions) {
            var effects = Effects()
            guardian.withLock { changeLocked(to: Self.bits(of: conditions), &effects) }
            effects.carryOut()
        }

        private func changeLocked(to bits: UInt8, _ effects: inout Effects) {
            let former = conditionsLocked
            conditionBits = bits
            places.forEach {
                $0._withUnsafeGuaranteedRef {
                    if let loss = $0.descriptors.noteChange(of: self, from: former) { effects.lose(descriptor, loss) }
                }
            }
        }

        /// False from the call of ``invalidate()`` on.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Takes the source out of every mode, for good. It is not performed any more, also not for an event that was
        /// found already; where another thread invalidates it, a call whose turn has come may still begin. The second
        /// time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            _ = endLocked(held)
            guardian.unlock(held)
            confined?.letGo()
        }

        /// What it waits for, in a trace and in its description.
        var subject: (kind: String, number: Int32) { ("descriptor", descriptor) }
        /// Whether nobody else knows what its descriptor may be watched for.
        var ownsDescriptor: Bool { false }
        /// Called before it is added to a mode of a loop. Returns whether it may be; if not, it says why.
        func willBeAdded(to loop: GRunLoop) -> Bool { true }
        /// Whether it is in no mode.
        var isNowhere: Bool { guardian.withLock { places.first == nil } }
    }
}

/// A source whose descriptor is the library's own: nobody else closes the number.
final class OwnDescriptorSource: GRunLoop.DescriptorSource, @unchecked Sendable {
    override var ownsDescriptor: Bool { true }
}

extension GRunLoop.DescriptorSource: ModeItem {
    static var kind: StaticString { "DescriptorSource" }
    var asItem: Item { .descriptor(self) }
    var homeLocked: Home? { confined?.home }
    var firstMode: Unmanaged<ModeState>? { places.first }

    func isIn(_ mode: ModeState) -> Bool { places.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) throws(GRunLoop.DescriptorError) {
        let isFirst = mode.descriptors.isEmpty
        if let loss = try mode.descriptors.add(self) { effects.lose(descriptor, loss) }
        places.add(.passUnretained(mode))
        if isFirst { loop.owner.watchAnewLocked(mode, &effects.kick) }
    }

    func leave(_ mode: ModeState, _ effects: inout Effects) {
        places.remove(mode)
        if let loss = mode.descriptors.remove(self) { effects.lose(descriptor, loss) }
    }
}

extension GRunLoop.DescriptorSource: CustomStringConvertible {
    /// Whether it is valid, what it waits for and its conditions, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.\(type(of: self)) \(hexAddress(self))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, \(subject.kind) = \(subject.number), conditions = \(conditions), "
            + "perform = closure}}"
    }
}
