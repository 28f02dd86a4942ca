// SPDX-License-Identifier: Apache-2.0
// Closures that are not @Sendable. They are called and released where their actor is, and nowhere else.
//
// The compiler ensures the rest. Only code on the actor can pass such a closure. The captured objects belong
// to the actor from then on, and cannot be sent to another thread.

/// The place where a closure may be called and released.
enum Home: Sendable {
    case mainActor
    /// The thread of a loop whose executor is the actor's.
    case thread(of: GRunLoop)
    /// The late jobs of this executor, whose loop has ended.
    case lateJobs(of: any SerialExecutor)
}

/// A closure that belongs to an actor, with a case for each kind of closure. As a generic value, the closure would be
/// wrapped at each call.
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

/// Holds a closure that belongs to an actor, and the actor itself. The actor must not be torn down while the closure is
/// still there.
package final class Confined: Forwarder, @unchecked Sendable {
    let home: Home
    /// Used only at the closure's home, or in the deinit of this object.
    private var content: Unmanaged<Content>?

    private final class Content {
        // In this order, so that the actor is released last.
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
        // The closure is released at its home, because this thread may have the last reference. A loop that ends drops
        // the block that was to do so, and then this deinit runs again.
        if home.isHere { content.release() } else { Confined(carrying: content, to: home).letGo() }
    }

    func call(_ use: (ConfinedClosure) -> Void) {
        home.requireHere()
        // Retained, because the closure may release itself.
        guard let content = content?.takeUnretainedValue() else { return }
        use(content.closure)
    }

    /// The address of the closure's code; 0 if the closure was released. Call it at home.
    package var callee: UInt { content?._withUnsafeGuaranteedRef { ClosureSymbol.called(by: $0.closure.words) } ?? 0 }

    /// Releases the closure where its actor is. Call it when the closure is never called again.
    package func letGo() { home.letGo(of: self) }

    /// Releases the closure. Call it at home.
    func empty() {
        let former = content
        content = nil
        former?.release()
    }

    /// Keeps the closure forever: it is never released.
    func keep() { content = nil }
}
