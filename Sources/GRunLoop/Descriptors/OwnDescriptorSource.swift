// SPDX-License-Identifier: Apache-2.0
// Descriptor sources whose descriptor the library owns.

/// A source whose descriptor the library owns, so that no other code closes the descriptor.
///
/// The source can represent another object in the modes, such as a signal source. In that case, the source retains the
/// represented object: see ``StandIn``.
package final class OwnDescriptorSource: GRunLoop.DescriptorSource, @unchecked Sendable {
    /// The object that the source represents, or the source itself if it represents no object.
    package var owner: AnyObject { content ?? self }
    private let content: (any GRunLoop.Item)?
    private let kind: String
    private let number: Int32

    /// - Parameters:
    ///   - kind: a word for the watched thing, such as a signal.
    ///   - number: the number of the watched thing; nil means the number of the descriptor.
    package init(
        descriptor: Int32, of kind: String = "descriptor", _ number: Int32? = nil,
        ownedBy owner: (any GRunLoop.Item)? = nil, confined: Confined? = nil,
        handler: @escaping @Sendable (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        content = owner
        self.kind = kind
        self.number = number ?? descriptor
        super.init(descriptor, .readable, confined: confined, handler)
    }

    package override var subject: (kind: String, number: Int32) { (kind, number) }
    override var ownsDescriptor: Bool { true }
    override var shown: AnyObject { owner }

    /// If the source represents an object, invalidates this object, otherwise the source. The program can get the
    /// source from a ``GRunLoop/Trace``.
    override public func invalidate() {
        if let content { content.invalidate() } else { end() }
    }

    /// Removes the source from every mode, permanently, but does not invalidate the object that it represents. Any
    /// thread.
    package func end() { super.invalidate() }
}
