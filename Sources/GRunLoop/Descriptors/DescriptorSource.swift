// SPDX-License-Identifier: Apache-2.0
// Version-1 sources, which wait for conditions of a descriptor.

extension GRunLoop {
    /// A source whose closure is called when its descriptor is ready, for example readable or writable.
    ///
    /// The source is level-triggered: its closure is called again in every pass while a condition that it waits for
    /// holds. The loop does not read from the descriptor. Use non-blocking descriptors: if another closure drains the
    /// descriptor, this source's closure may still get one spurious call, as in every level-triggered loop.
    ///
    /// Several sources may watch one descriptor for different conditions. If two sources wait for the same condition,
    /// only the source that was added later gets it. A descriptor source can be in one loop at a time, and in any
    /// number of that loop's modes.
    ///
    /// Remove or invalidate the source before you close the descriptor. Let the closure capture the object that owns
    /// the descriptor: Swift releases an object after its last use, not at the end of its scope.
    ///
    /// Also remove the source before `dup2(2)` gives the descriptor's number another file, and add the source again
    /// afterwards. Otherwise the loop continues to watch the old file. The loop always notices the new file when a
    /// source of this number is added, changed or removed. Usually an event of the old file also reveals the new file.
    /// In that case, the loop logs a warning, drops the event, and watches the new file. If no duplicate keeps the old
    /// file open, no event reveals the new file. If the new file cannot be polled, like a regular file or `/dev/null`,
    /// the closure is not called for the new file.
    ///
    /// If the closure starts a nested run in one of the source's modes while a condition holds, the nested run calls
    /// the closure again. This can repeat without end. So read the data or remove the source before the nested run.
    ///
    /// For signals and child processes, use ``SignalSource`` and ``ChildSource``.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 1. The GLib
    /// function is `g_unix_fd_source_new`.
    public class DescriptorSource: @unchecked Sendable {
        /// The conditions that a source waits for, or that the loop has found. The bits have the values of `poll(2)`,
        /// which `epoll(7)` and GLib also use. The corresponding GLib type is `GIOCondition`.
        public struct Conditions: OptionSet, Hashable, Sendable, CustomStringConvertible {
            /// The conditions as bits.
            public let rawValue: UInt32

            /// Creates conditions from their bits. A source ignores unknown bits.
            public init(rawValue: UInt32) {
                self.rawValue = rawValue
            }

            /// Data can be read, or the stream has ended (`POLLIN`).
            public static let readable = Conditions(rawValue: 1 << 0)
            /// Writing would not block (`POLLOUT`).
            public static let writable = Conditions(rawValue: 1 << 2)
            /// There is an exceptional condition, such as out-of-band data (`POLLPRI`).
            public static let priority = Conditions(rawValue: 1 << 1)
            /// The other end has closed (`POLLHUP`). Every source of the descriptor gets this condition, even a source
            /// that does not wait for it.
            public static let hangUp = Conditions(rawValue: 1 << 4)
            /// The descriptor has failed (`POLLERR`). Every source of the descriptor gets this condition, even a source
            /// that does not wait for it.
            public static let error = Conditions(rawValue: 1 << 3)

            /// The names of the conditions, joined by `+`.
            public var description: String {
                let names: [(Conditions, String)] = [
                    (.readable, "readable"), (.writable, "writable"), (.priority, "priority"), (.hangUp, "hangUp"),
                    (.error, "error"),
                ]
                return names.filter { contains($0.0) }.map(\.1).joined(separator: "+")
            }

            /// Returns the conditions to report for epoll's `events`: the conditions in this set, hang-ups and errors.
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
        // The conditions fit into one byte, so that the object has 72 bytes, for which malloc uses 80 bytes. With one
        // more byte, malloc would use 96 bytes.
        @exclusivity(unchecked) private var conditionBits: UInt8
        /// The conditions. The caller holds the guardian.
        var conditionsLocked: Conditions { Conditions(rawValue: UInt32(conditionBits)) }

        /// The conditions that the source waits for. ``Conditions/hangUp`` and ``Conditions/error`` are always
        /// reported, even if this set is empty. After a hang-up, every pass reports the hang-up until the source is
        /// removed.
        ///
        /// You can change the conditions at any time. For example, wait for ``Conditions/writable`` only while there is
        /// something to write. If you remove a condition, it is not reported any more, even if the loop has found it
        /// already. If a thread other than the loop's thread removes the condition, a call that has already begun may
        /// still report it. If you add a condition that already holds, the loop wakes and reports it.
        ///
        /// A change costs one system call for each mode of the source, or none if the kernel watches for the same
        /// conditions as before. If the descriptor was closed before the change, the loop logs this mistake. Unknown
        /// bits are dropped.
        ///
        /// Threads: any. The corresponding Core Foundation functions are `CFFileDescriptorEnableCallBacks` and
        /// `CFFileDescriptorDisableCallBacks`. The GLib function is `g_source_modify_unix_fd`.
        public var conditions: Conditions {
            get { Fork.isChild ? conditionsLocked : guardian.withLock { conditionsLocked } }
            set {
                guard !Fork.refuses("DescriptorSource.conditions") else { return }
                guard !ownsDescriptor else {
                    return Log.misuse(
                        "DescriptorSource.conditions",
                        "ignored: the source of a \(subject.kind) has fixed conditions. To pause the source, remove it "
                            + "from its modes")
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

        /// Creates a source that is in no loop yet, and can be added to any loop.
        ///
        /// Adding the source to a loop checks whether the descriptor can be watched.
        ///
        /// - Parameters:
        ///   - descriptor: an open descriptor that can be polled. The caller owns it, and the source never closes it.
        ///   - conditions: the conditions to wait for. ``Conditions/hangUp`` and ``Conditions/error`` are always
        ///     reported.
        ///   - handler: a closure that is called on the loop's thread with the conditions that were found. The closure
        ///     is released when the source is released.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`. The GLib function is
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

        /// Returns the bits of the conditions, without unknown bits.
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

        /// Whether the source is valid. False after ``invalidate()`` was called, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the source from every mode, permanently.
        ///
        /// The closure is not called any more, even for an event that the loop has already found. If a thread other
        /// than the loop's thread invalidates the source, the loop may still call the closure once. A second call does
        /// nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            _ = endLocked(held)
            guardian.unlock(held)
            confined?.letGo()
        }

        /// The kind and the number of the watched thing, such as a signal and its number. Traces and descriptions show
        /// them.
        package var subject: (kind: String, number: Int32) { ("descriptor", descriptor) }
        /// True if the library owns the descriptor. Then the program cannot change the source's conditions, and does
        /// not close the descriptor.
        var ownsDescriptor: Bool { false }
        /// The object whose type and address the description shows.
        var shown: AnyObject { self }
        /// Whether the source is in no mode.
        package var isNowhere: Bool { guardian.withLock { places.first == nil } }
    }
}

extension GRunLoop.DescriptorSource: ModeItem {
    /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
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
    /// A text for people: the source's validity, the thing that it waits for, and its conditions. The format may
    /// change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.\(type(of: shown)) \(hexAddress(shown))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, \(subject.kind) = \(subject.number), conditions = \(conditions), "
            + "perform = closure}}"
    }
}
