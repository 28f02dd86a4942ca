// SPDX-License-Identifier: Apache-2.0
// Objects that a descriptor source represents in the modes.

/// Connects a signal source, a child source or a message port to the descriptor source that represents it in the modes.
///
/// The modes retain the descriptor source, and the descriptor source retains the object: the signal source, child
/// source or port. So the object lives as long as it is in a mode. The stand-in holds a weak reference to the
/// descriptor source. When the object is in no mode and not being called, the descriptor source is released. The next
/// addition to a mode makes another descriptor source.
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

    /// Whether the object may be added to modes. False after ``end(lettingGoOf:)``, and in a forked child.
    package var isValid: Bool { !Fork.isChild && lock.withLock { !hasEnded } }

    /// The descriptor source; nil if there is none now, and in a forked child.
    package var source: OwnDescriptorSource? { Fork.isChild ? nil : lock.withLock { weakSource } }

    /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
    ///
    /// - Parameters:
    ///   - object: the object that the source represents.
    ///   - kind: the name of the object's type, for log messages.
    ///   - make: makes a source that retains the object.
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

    /// Returns the descriptor source, and creates it if necessary. Returns nil if the object is invalid.
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

    /// Copies the object's label to the descriptor source that represents it.
    package func passOnLabel(of object: AnyObject) {
        if let source { Labels.pass(from: object, to: source) }
    }

    /// Removes the descriptor source from every mode. Later additions of the object fail. Returns false if an earlier
    /// call removed the source, and in a forked child.
    ///
    /// - Parameter confined: holds the closure and its actor; nil if the closure belongs to no actor. The closure is
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
