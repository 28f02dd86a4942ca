// SPDX-License-Identifier: Apache-2.0
// Version-1 sources: a descriptor, and the conditions that the source waits for.

extension GRunLoop {
    /// A source that is performed when its descriptor is readable, writable, and so on.
    ///
    /// It is level-triggered: it is performed again in every pass in which the condition still holds. The loop does not
    /// read from the descriptor. Use descriptors that do not block: if a closure drains the descriptor of another
    /// source, that source may still get one spurious call, as in every level-triggered loop.
    ///
    /// Several sources may watch one descriptor for different conditions. If two wait for the same condition, the
    /// source that was added later gets it. A descriptor source is in one loop at a time, and in any number of its
    /// modes.
    ///
    /// Remove or invalidate the source before you close the descriptor. Let the closure hold the object that owns the
    /// descriptor: Swift releases an object after its last use, not at the end of its scope.
    ///
    /// Also remove or invalidate the source before `dup2(2)` gives the number another file, and add it again
    /// afterwards. Otherwise the loop goes on watching the old file. The loop always notices the new file when a source
    /// of the number is added, changed or removed, and usually when an event of the old file comes. Then it logs a
    /// warning, drops the event, and watches the new file. If no copy of the old file is open, no such event comes. If
    /// the new file cannot be polled, as a regular file or `/dev/null`, the closure is not called for the new file.
    ///
    /// A closure may run a nested loop in one of the source's modes while the condition still holds. Then the nested
    /// loop calls the closure again, and so on. Read first, or remove the source before the nested run.
    ///
    /// Signals and child processes also have a descriptor, and sources of their own: ``SignalSource`` and
    /// ``ChildSource``.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1; the GLib
    /// function is `g_unix_fd_source_new`.
    public class DescriptorSource: @unchecked Sendable {
        /// The conditions that a source can wait for, or has found. The bits are those of `poll(2)`, which `epoll(7)`
        /// and GLib use as well. The corresponding GLib type is `GIOCondition`.
        public struct Conditions: OptionSet, Hashable, Sendable, CustomStringConvertible {
            /// The conditions as bits.
            public let rawValue: UInt32

            /// The conditions that these bits stand for. A source ignores bits that stand for no condition.
            public init(rawValue: UInt32) {
                self.rawValue = rawValue
            }

            /// There is something to read, or the stream has ended (`POLLIN`).
            public static let readable = Conditions(rawValue: 1 << 0)
            /// Writing would not block (`POLLOUT`).
            public static let writable = Conditions(rawValue: 1 << 2)
            /// There is an exceptional condition, such as out-of-band data (`POLLPRI`).
            public static let priority = Conditions(rawValue: 1 << 1)
            /// The other side has closed (`POLLHUP`). Reported to every source of the descriptor, whether it asks for
            /// it or not.
            public static let hangUp = Conditions(rawValue: 1 << 4)
            /// The descriptor has failed (`POLLERR`). Reported to every source of the descriptor, whether it asks for
            /// it or not.
            public static let error = Conditions(rawValue: 1 << 3)

            /// The names of the conditions, joined by `+`.
            public var description: String {
                let names: [(Conditions, String)] = [
                    (.readable, "readable"), (.writable, "writable"), (.priority, "priority"), (.hangUp, "hangUp"),
                    (.error, "error"),
                ]
                return names.filter { contains($0.0) }.map(\.1).joined(separator: "+")
            }

            /// The conditions to report for epoll's `events`: those that this set contains, and failures.
            func happened(in events: UInt32) -> Conditions {
                intersection(Self(rawValue: events)).union(Self(rawValue: events).intersection([.hangUp, .error]))
            }
        }

        /// The descriptor that is watched. The caller owns it, and the source never closes it.
        ///
        /// Threads: any. The corresponding part of Core Foundation is `getPort` in the context of a source.
        public let descriptor: Int32
        var isCommonItem = false
        var isValidLocked = true
        // All conditions fit into one byte. Next to the flags, this byte keeps the object at 72 bytes, for which malloc
        // uses 80. One byte more would cost 96.
        @exclusivity(unchecked) private var conditionBits: UInt8
        /// The conditions. The caller holds the guardian.
        var conditionsLocked: Conditions { Conditions(rawValue: UInt32(conditionBits)) }

        /// The conditions that the source waits for. ``Conditions/hangUp`` and ``Conditions/error`` are always
        /// reported, even if this is empty: a descriptor that has hung up is reported until the source is removed.
        ///
        /// You can change it at any time, as for a socket that waits for ``Conditions/writable`` only while it has
        /// something to write. A condition that you remove is not reported any more, even if it was found already. If
        /// another thread removes it, a call that has begun may still report it. A condition that you add is reported
        /// if it holds now, and a sleeping loop notices it.
        ///
        /// A change costs one system call for each mode that the source is in. It costs none if the kernel watches for
        /// the same conditions as before. If the descriptor was closed meanwhile, that is logged. Bits that no loop can
        /// wait for are dropped.
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
                        "the descriptor of a \(subject.kind) is its own, and what it waits for stays; add it and "
                            + "remove it instead")
                }
                change(to: newValue)
            }
        }

        /// Guards the flags, the conditions and the places.
        let guardian = Guardian()
        @exclusivity(unchecked) private var places = Places<Unmanaged<ModeState>>()
        let handler: @Sendable (DescriptorSource, Conditions) -> Void
        /// Holds the closure and its actor, if the closure belongs to an actor; otherwise nil.
        let confined: Confined?

        /// Creates a source that is in no loop yet, and may be added to any loop.
        ///
        /// Whether the descriptor can be watched is checked when the source is added.
        ///
        /// - Parameters:
        ///   - descriptor: an open descriptor that can be polled. The caller owns it, and the source never closes it.
        ///   - conditions: what to wait for; ``Conditions/hangUp`` and ``Conditions/error`` are always waited for.
        ///   - handler: called on the loop's thread with the conditions that were found. It is released with the
        ///     source.
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

        /// The conditions as bits, without bits that no loop can wait for.
        private static func bits(of conditions: Conditions) -> UInt8 { UInt8(conditions.rawValue & 0x1F) }

        package func change(to conditions: Conditions) {
            var effects = DeferredEffects()
            guardian.withLock { changeLocked(to: Self.bits(of: conditions), &effects) }
            effects.carryOut()
        }

        private func changeLocked(to bits: UInt8, _ effects: inout DeferredEffects) {
            let former = conditionsLocked
            conditionBits = bits
            places.forEach {
                $0._withUnsafeGuaranteedRef {
                    if let loss = $0.descriptors.noteChange(of: self, from: former) { effects.lose(descriptor, loss) }
                }
            }
        }

        /// Whether the source is valid: false from the call of ``invalidate()`` on, and always in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the source from every mode, for good.
        ///
        /// It is not performed any more, even for an event that was found already. If another thread invalidates it, a
        /// call whose turn has come may still begin. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            _ = endLocked(held)
            guardian.unlock(held)
            confined?.letGo()
        }

        /// The kind of thing that the source waits for, and its number, for traces and descriptions.
        package var subject: (kind: String, number: Int32) { ("descriptor", descriptor) }
        /// Whether the library owns the descriptor. If so, the program does not close it, and cannot change its
        /// conditions.
        var ownsDescriptor: Bool { false }
        /// The object whose type and address the description shows.
        var shown: AnyObject { self }
        /// Whether the source is in no mode.
        package var isNowhere: Bool { guardian.withLock { places.first == nil } }
    }
}

extension GRunLoop.DescriptorSource: ModeItem {
    /// Carries out a call of a loop: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
    ///
    /// - Throws: ``GRunLoop/SystemError`` if the descriptor cannot be watched.
    ///
    /// Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) throws(GRunLoop.SystemError) -> Bool {
        try carryOut(operation, loop, mode)
    }

    static var kind: StaticString { "DescriptorSource" }
    var asCommonItem: CommonItem { .descriptor(self) }
    var homeLocked: Home? { confined?.home }
    var firstMode: Unmanaged<ModeState>? { places.first }

    func isIn(_ mode: ModeState) -> Bool { places.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) throws(GRunLoop.SystemError) {
        let isFirst = mode.descriptors.isEmpty
        if let loss = try mode.descriptors.add(self) { effects.lose(descriptor, loss) }
        places.add(.passUnretained(mode))
        if isFirst { loop.restartSleepLocked(mode, &effects.kick) }
    }

    func leave(_ mode: ModeState, _ effects: inout DeferredEffects) {
        places.remove(mode)
        if let loss = mode.descriptors.remove(self) { effects.lose(descriptor, loss) }
    }
}

extension GRunLoop.DescriptorSource: CustomStringConvertible {
    /// A text that says whether the source is valid, what it waits for, and its conditions. It is for people to read;
    /// its format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.\(type(of: shown)) \(hexAddress(shown))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, \(subject.kind) = \(subject.number), conditions = \(conditions), "
            + "perform = closure}}"
    }
}
