// SPDX-License-Identifier: Apache-2.0
// Where the code of a closure is: its symbol says which function it was written in. It is looked up when somebody
// reads it, so that making an item costs nothing for it.

enum Code {
    // A function has its own layout as a property of its own type only; in generic code it is wrapped in another one.
    private struct Plain { let body: (() -> Void)? }
    private struct OfTimer { let body: ((GRunLoop.Timer) -> Void)? }
    private struct OfObserver { let body: ((GRunLoop.Observer, GRunLoop.Activity) -> Void)? }
    private struct OfDescriptor {
        let body: (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    }
    private struct OfPort { let body: ((GRunLoop.PortMessage) -> Void)? }

    /// A closure as it is: its code, and what it has captured.
    struct Words {
        let code: UInt
        let captured: UInt

        static let none = Words(code: 0, captured: 0)
    }

    /// ``Words/none`` for nil.
    static func of(_ body: (() -> Void)?) -> Words { unsafeBitCast(Plain(body: body), to: Words.self) }

    static func of(_ body: ((GRunLoop.Timer) -> Void)?) -> Words { unsafeBitCast(OfTimer(body: body), to: Words.self) }

    static func of(_ body: ((GRunLoop.Observer, GRunLoop.Activity) -> Void)?) -> Words {
        unsafeBitCast(OfObserver(body: body), to: Words.self)
    }

    static func of(
        _ body: @escaping (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    ) -> Words {
        unsafeBitCast(OfDescriptor(body: body), to: Words.self)
    }

    static func of(_ body: ((GRunLoop.PortMessage) -> Void)?) -> Words {
        unsafeBitCast(OfPort(body: body), to: Words.self)
    }

    /// Where the code is that is called: the closure's own, or what that passes its calls on to; 0 if it is not known.
    static func called(by closure: Words) -> UInt {
        guard let object = object(at: closure.captured) as? any Forwarder else { return closure.code }
        let callee = object.callee
        return callee == 0 ? closure.code : callee
    }

    /// A closure that has captured one object holds that, and one that has captured more a box, which is no object: the
    /// first word of what describes it says so. Nil for a box, and for nothing.
    private static func object(at address: UInt) -> AnyObject? {
        guard let box = UnsafePointer<UnsafePointer<UInt>>(bitPattern: address), box.pointee.pointee == classKind else {
            return nil
        }
        return unsafeBitCast(address, to: AnyObject.self)
    }

    private static let classKind: UInt = 0
}

/// Holds code of the program's to which a closure passes its calls on. If it is all that the closure has captured, then
/// this code is shown in the place of the closure's.
package protocol Forwarder: AnyObject {
    /// Where the code is; 0 if it is not known.
    var callee: UInt { get }
}
