// SPDX-License-Identifier: Apache-2.0
// Items whose closures belong to the main actor, or to an actor that lives on a loop.
//
// Each initializer that takes a @Sendable closure has two more variants. The variant with `isolation:` takes any
// closure that is made on an actor. Whatever this closure captures, such as variables and objects of plain classes,
// belongs to the actor from then on. The compiler checks this. The other variant takes a closure that is written as
// `{ @MainActor in ... }`, which belongs to the main actor wherever it is made. In both variants the loop calls the
// closure directly, without a job, because the actor is on the loop's thread.
//
// The actor must not be optional. Without an actor, the captured objects could still be sent to another thread.
//
// The compiler (6.3) misses one case, as it does for `Task { }`. Code of a global actor, such as the main actor, makes
// an object and captures it in such a closure. The code can then still send the object to another thread.

extension Confined {
    var block: @Sendable () -> Void {
        { self.call { if case .block(let call) = $0 { call() } } }
    }

    /// Like `block`, but releases the closure directly after the call. It is for a closure that another thread
    /// enqueues. Otherwise that thread could hold the last reference, and would have to send the closure back to the
    /// actor.
    var blockOnce: @Sendable () -> Void {
        {
            self.block()
            self.letGo()
        }
    }

    package var descriptorHandler: @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void {
        { source, ready in self.call { if case .descriptor(let call) = $0 { call(source, ready) } } }
    }
}
