// SPDX-License-Identifier: Apache-2.0
// Descriptor sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.DescriptorSource {
    /// A descriptor source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(.descriptor(handler), of: isolation)
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }

    /// A descriptor source whose closure belongs to the main actor, and is called and let go there: one that is written
    /// as `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(onMainActor: .descriptor(unsafeBitCast(handler, to: ConfinedClosure.Descriptor.self)))
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }
}
