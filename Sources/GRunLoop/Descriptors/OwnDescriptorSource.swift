// SPDX-License-Identifier: Apache-2.0
// A source whose descriptor the library owns.

/// A source whose descriptor the library owns: no other code closes the number.
///
/// It may stand for another object in the modes, such as a signal source, and then keeps that object alive: see
/// ``StandIn``.
package final class OwnDescriptorSource: GRunLoop.DescriptorSource, @unchecked Sendable {
    /// The object for which the source stands; the source itself if it stands for none.
    package var owner: AnyObject { content ?? self }
    private let content: (any GRunLoop.Item)?
    private let kind: String
    private let number: Int32

    /// - Parameters:
    ///   - kind: the kind of thing that the source waits for, as people read it.
    ///   - number: the number of the thing; nil stands for the descriptor.
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

    /// Invalidates the object for which the source stands, because a ``GRunLoop/Trace`` shows the source to the
    /// program.
    override public func invalidate() {
        if let content { content.invalidate() } else { end() }
    }

    /// Removes the source from every mode, permanently. Any thread.
    package func end() { super.invalidate() }
}
