// SPDX-License-Identifier: Apache-2.0
// Closures that belong to an actor, and therefore need not be @Sendable. These closures are called and released only at
// their ``Home``.
//
// The compiler ensures that only code on the actor can pass such a closure. The objects that the closure captures
// cannot be sent to another thread afterwards.

/// The place where a closure of an actor must be called and released.
enum Home: Sendable {
    case mainActor
    /// The thread of this loop. The actor uses the loop's executor.
    case thread(of: GRunLoop)
    /// The late jobs (see ``GRunLoop/Executor``) of an executor whose loop has ended.
    case lateJobs(of: any SerialExecutor)
}

/// A closure that belongs to an actor. Each closure type has its own case. With a generic payload, Swift would wrap the
/// closure in another closure at each call.
package enum ConfinedClosure {
    package typealias Timer = (GRunLoop.Timer) -> Void
    package typealias Block = () -> Void
    package typealias Descriptor = (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    package typealias Port = (GRunLoop.PortMessage) -> Void
    package typealias Observer = (GRunLoop.Observer, GRunLoop.Activity) -> Void

    case timer(Timer)
    case block(Block)
    case descriptor(Descriptor)
    case observer(Observer)
    case port(Port)

    var words: ClosureSymbol.Words {
        switch self {
        case .timer(let body): ClosureSymbol.of(body)
        case .block(let body): ClosureSymbol.of(body)
        case .descriptor(let body): ClosureSymbol.of(body)
        case .observer(let body): ClosureSymbol.of(body)
        case .port(let body): ClosureSymbol.of(body)
        }
    }
}

/// Holds a closure that belongs to an actor, and retains the actor, because the actor must outlive the closure.
package final class Confined: Forwarder, @unchecked Sendable {
    let home: Home
    /// Used only at the closure's home, or in the deinit of this object.
    private var content: Unmanaged<Content>?

    private final class Content {
        // Swift releases the properties in this order, so the actor is released last.
        let closure: ConfinedClosure
        let actor: (any Actor)?

        init(_ closure: ConfinedClosure, of actor: (any Actor)?) {
            self.closure = closure
            self.actor = actor
        }
    }

    init(_ closure: ConfinedClosure, of actor: (any Actor)?, at home: Home) {
        self.home = home
        content = .passRetained(Content(closure, of: actor))
    }

    private init(carrying content: Unmanaged<Content>, to home: Home) {
        self.home = home
        self.content = content
    }

    deinit {
        guard let content else { return }
        // If this is not the closure's home, a new object takes the content, and a block at the home releases the new
        // object. If the home's loop ends first, the loop drops the block, and the deinit of the new object runs.
        if home.isHere { content.release() } else { Confined(carrying: content, to: home).letGo() }
    }

    func call(_ use: (ConfinedClosure) -> Void) {
        home.requireHere()
        // The content is retained during the call, because the closure may invalidate its item. The invalidation
        // releases the content.
        guard let content = content?.takeUnretainedValue() else { return }
        use(content.closure)
    }

    /// The address of the closure's code; 0 if the closure was released. Read this property at the closure's home.
    package var callee: UInt { content?._withUnsafeGuaranteedRef { ClosureSymbol.called(by: $0.closure.words) } ?? 0 }

    /// Releases the closure at its home. Call this function without a lock, and only when nothing can call the closure
    /// any more.
    package func letGo() { home.letGo(of: self) }

    /// Releases the closure immediately. Call this function at the closure's home.
    func empty() {
        let former = content
        content = nil
        former?.release()
    }

    /// Leaks the closure.
    func keep() { content = nil }
}
