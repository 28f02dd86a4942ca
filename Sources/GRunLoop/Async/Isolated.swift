// SPDX-License-Identifier: Apache-2.0
// Items whose closures belong to the main actor, or to an actor that lives on a loop.
//
// Each initializer that takes a @Sendable closure, which any loop may call, has two more variants. The variant with
// `isolation:` takes any closure that is made on an actor. Everything that the closure captures, such as plain classes
// and variables, belongs to the actor from then on. The compiler checks this. The other variant takes a closure that is
// written as `{ @MainActor in ... }`. It belongs to the main actor, wherever it is made. Neither schedules anything:
// the actor is on the loop's thread, and the loop calls the closure directly.
//
// The actor must not be optional. Without an actor, the captures of a closure could still be sent to another thread.
//
// The compiler (6.3) misses one case, here as with `Task { }`. Code of a global actor, such as the main actor, makes a
// new object. A closure that is written there captures the object. The code then sends the object away.

extension Confined {
    var block: @Sendable () -> Void {
        { self.call { if case .block(let call) = $0 { call() } } }
    }

    /// Like `block`, for a closure that another thread hands over. It releases the closure right after the call.
    /// Otherwise that thread's own reference might be the last one, and the release would have to be passed back to the
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
