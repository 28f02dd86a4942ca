// SPDX-License-Identifier: Apache-2.0
// The place for the source that stands for an object in its modes.

/// The place for the source that stands in the modes for an object that has a descriptor: a signal source, a child
/// source or a message port.
///
/// The source owns the object, and the modes own the source. So the object lives as long as it is in a mode, and this
/// place does not keep the source. When the object is in no mode and no callout is under way, the source is released.
/// The next addition to a mode makes another source.
///
/// Any thread.
package final class StandIn: @unchecked Sendable {
    private let lock = Lock.take()
    /// Guarded by the lock.
    private weak var weakSource: OwnDescriptorSource?
    /// Guarded by the lock.
    private var hasEnded = false

    package init() {}

    deinit { Lock.giveBack(lock) }

    /// Whether the object may be added to modes. False in a forked child.
    package var isValid: Bool { !Fork.isChild && lock.withLock { !hasEnded } }

    /// The source; nil if there is none, and in a forked child.
    package var source: OwnDescriptorSource? { Fork.isChild ? nil : lock.withLock { weakSource } }

    /// Carries out a call of a loop: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
    ///
    /// - Parameters:
    ///   - object: the object for which the source stands.
    ///   - kind: the name of the object's type, for messages.
    ///   - make: makes a source that is owned by the object.
    package func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode,
        for object: AnyObject, _ kind: StaticString, _ make: () -> OwnDescriptorSource
    ) throws(GRunLoop.SystemError) -> Bool {
        let source: OwnDescriptorSource?
        switch operation {
        case .add: source = Fork.refuses("add", kind) ? nil : sourceToAdd(for: object, make)
        case .remove: source = Fork.refuses("remove", kind) ? nil : self.source
        case .contains: source = Fork.refuses("contains", kind) ? nil : self.source
        }
        return try source?.carryOut(operation, of: loop, forMode: mode) ?? false
    }

    /// Returns the source, and makes one if there is none. Nil if the object is invalid.
    private func sourceToAdd(for object: AnyObject, _ make: () -> OwnDescriptorSource) -> OwnDescriptorSource? {
        if let source { return source }
        let new = make()
        let source = lock.withLock { () -> OwnDescriptorSource? in
            guard !hasEnded, weakSource == nil else { return weakSource }
            weakSource = new
            return new
        }
        if source === new { passOnLabel(of: object) }
        return source
    }

    /// Copies the object's label to its source.
    package func passOnLabel(of object: AnyObject) {
        if let source { Labels.pass(from: object, to: source) }
    }

    /// Ends the place: the source leaves every mode, and no other is made. Returns false if that was done before.
    ///
    /// - Parameter confined: holds the closure and its actor, if the closure belongs to an actor; its closure is
    ///   released.
    package func end(lettingGoOf confined: Confined?) -> Bool {
        guard !Fork.isChild else { return false }
        let (isFirst, source) = lock.withLock {
            defer { hasEnded = true }
            return (!hasEnded, weakSource)
        }
        guard isFirst else { return false }
        if let source { source.end() } else { confined?.letGo() }
        return true
    }
}
