// SPDX-License-Identifier: Apache-2.0
// Items whose closures belong to the main actor, or to an actor that lives on a loop.
//
// Each initializer that takes a @Sendable closure has two variants for closures of actors. The variant with
// `isolation:` takes any closure that is made on an actor. Whatever this closure captures, such as variables and
// objects of plain classes, belongs to the actor from then on. The compiler checks this. The other variant takes a
// closure that is written as `{ @MainActor in ... }`. Such a closure belongs to the main actor, wherever it is made. In
// both variants the loop calls the closure directly, without a job, because the actor is on the loop's thread.
//
// The type of `isolation` is not optional. If it could be nil, the captured objects would belong to no actor, and could
// still be sent to another thread.
//
// The compiler of Swift 6.3 misses one case, as it does for `Task { }`. In this case, code of a global actor, such as
// the main actor, captures a new object in a closure for `isolation:`. The code can still send this object to another
// thread.

extension Confined {
    var block: @Sendable () -> Void {
        { self.call { if case .block(let call) = $0 { call() } } }
    }

    /// Like `block`, but releases the actor's closure directly after the call. Use this property if another thread
    /// enqueues the block. Otherwise the other thread could hold the last reference to the actor's closure. It would
    /// then have to send the closure to the actor for the release.
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
