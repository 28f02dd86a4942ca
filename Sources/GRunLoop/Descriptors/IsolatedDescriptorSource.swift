// SPDX-License-Identifier: Apache-2.0
// Descriptor sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.DescriptorSource {
    /// Creates a descriptor source whose closure belongs to the caller's actor, and is called and released on this
    /// actor.
    ///
    /// `isolation` is the caller's actor: pass `self` in an actor, or `#isolation` anywhere. If the actor does not live
    /// on a run loop, the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The source can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. If
    /// the source is added to another loop, the process ends with a message. The source retains the closure and the
    /// actor until the source is invalidated.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(.descriptor(handler), of: isolation)
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }

    /// Creates a descriptor source whose closure belongs to the main actor, and is called and released on this actor.
    /// Write the closure as `{ @MainActor _, _ in ... }`.
    ///
    /// The source can be added only to the main loop or, on the main actor, to a loop of virtual time. If the source is
    /// added to another loop, the process ends with a message.
    ///
    /// Threads: any. Everything else is as in ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(onMainActor: handler)
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }
}
