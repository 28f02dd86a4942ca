// SPDX-License-Identifier: Apache-2.0
// Items whose closures belong to an actor: to the main actor, or to one that lives on a loop.
//
// Each initializer that takes a @Sendable closure, which any loop may call, has two more. With `isolation:` it takes
// any closure that is made on an actor: what it captures, plain classes and variables among it, belongs to the actor
// from then on, which the compiler sees to. A closure that is written as `{ @MainActor in ... }` belongs to the main
// actor, wherever it is made. Nothing is scheduled: the actor is on the loop's thread, and the closure is called where
// it stands.
//
// The casts take the main actor off a closure's type: ``Home`` sees to it where it is called, as
// `MainActor.assumeIsolated` would.
//
// The actor must not be optional: with none, what a closure captures could still be sent to another thread.
//
// What the compiler (6.3) does not see, here as with `Task { }`: in code of a global actor, as the main one, an object
// that is made on the spot, captured by a closure that is written there, and then sent away.

extension Confined {
    var block: @Sendable () -> Void {
        { self.call { if case .block(let call) = $0 { call() } } }
    }

    /// For a thread that hands it over: the closure goes as soon as it was called, and not with that thread's own
    /// reference, which may go later and would have it brought back.
    var blockOnce: @Sendable () -> Void {
        {
            self.block()
            self.letGo()
        }
    }

    var descriptorHandler: @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void {
        { source, ready in self.call { if case .descriptor(let call) = $0 { call(source, ready) } } }
    }
}
