// SPDX-License-Identifier: Apache-2.0
// Closures that are not @Sendable: called and let go where their actor is, and nowhere else.
//
// The compiler sees to the rest: whoever gives such a closure stands on that actor, so that what the closure has
// captured belongs to the actor from then on and cannot be sent to another thread.

/// Where a closure may be called and let go.
enum Home: Sendable {
    case mainActor
    /// On the thread of a loop whose executor is the actor's.
    case thread(of: GRunLoop)
    /// In the late jobs of this executor, whose loop has ended.
    case lateJobs(of: any SerialExecutor)

    /// Where that is now.
    var belonging: any Belonging { self }
}

/// What an item asks of its closure's home.
protocol Belonging {
    /// Ends the process if the item may not be added to the loop. Also with a lock held.
    func require(_ loop: GRunLoop, for item: StaticString)
    /// The same where the closure is about to be called.
    func requireHere()
    /// Whether to let go of something here.
    var isHere: Bool { get }
    /// Without a lock: the closure goes where its actor is.
    func letGo(of confined: Confined)
}

/// A closure of an actor's, of each kind: as a generic value it would be wrapped at each call.
enum ConfinedClosure {
    typealias Timer = (GRunLoop.Timer) -> Void
    typealias Block = () -> Void
    typealias Descriptor = (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    typealias Port = (GRunLoop.PortMessage) -> Void
    typealias Observer = (GRunLoop.Observer, GRunLoop.Activity) -> Void

    case timer(Timer)
    case block(Block)
    case descriptor(Descriptor)
    case observer(Observer)
    case port(Port)

    var words: Code.Words {
        switch self {
        case .timer(let body): Code.of(body)
        case .block(let body): Code.of(body)
        case .descriptor(let body): Code.of(body)
        case .observer(let body): Code.of(body)
        case .port(let body): Code.of(body)
        }
    }
}

/// Holds a closure of an actor's, and the actor: what that leaves behind when it goes must not be torn down beside a
/// closure that is still there.
final class Confined: Forwarder, @unchecked Sendable {
    let home: Home
    /// At home only, and when nobody else has this any more.
    private var content: Unmanaged<Content>?

    private final class Content {
        // In this order: the actor goes last.
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
        // It is emptied there: this thread may be the last to let go of it. A loop that ends drops it as it is, and
        // that comes back here.
        if home.belonging.isHere { content.release() } else { Confined(carrying: content, to: home).letGo() }
    }

    func call(_ use: (ConfinedClosure) -> Void) {
        home.belonging.requireHere()
        // Retained: the closure may let itself go.
        guard let content = content?.takeUnretainedValue() else { return }
        use(content.closure)
    }

    /// At home: where the closure's code is; 0 if it is gone.
    var callee: UInt { content?._withUnsafeGuaranteedRef { Code.called(by: $0.closure.words) } ?? 0 }

    /// When it is never called again.
    func letGo() { home.belonging.letGo(of: self) }

    /// At home: lets the closure go.
    func empty() {
        let former = content
        content = nil
        former?.release()
    }

    /// Keeps the closure for ever.
    func keep() { content = nil }
}
