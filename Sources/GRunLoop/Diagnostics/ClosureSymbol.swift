// SPDX-License-Identifier: Apache-2.0
// Finds the code of a closure. The symbol of the code names the function in which the closure was written. The code is
// found only when it is needed, so making an item costs nothing for it.

package enum ClosureSymbol {
    // One struct for each closure type: a closure has its own layout only as a property of its own type. Generic code
    // wraps a closure in another one.
    private struct Plain { let body: (() -> Void)? }
    private struct OfTimer { let body: ((GRunLoop.Timer) -> Void)? }
    private struct OfObserver { let body: ((GRunLoop.Observer, GRunLoop.Activity) -> Void)? }
    private struct OfDescriptor {
        let body: (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    }
    private struct OfPort { let body: ((GRunLoop.PortMessage) -> Void)? }

    /// The two words of a closure: the address of its code, and the address of what it has captured.
    package struct Words {
        let code: UInt
        let captured: UInt

        static let none = Words(code: 0, captured: 0)
    }

    /// Returns the two words of a closure; ``Words/none`` for nil.
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

    /// Returns the address of the code that a call of the closure runs; 0 if it is not known. If the closure only
    /// passes its calls on to the program's code, this is the address of the program's code.
    package static func called(by closure: Words) -> UInt {
        guard let object = object(at: closure.captured) as? any Forwarder else { return closure.code }
        let callee = object.callee
        return callee == 0 ? closure.code : callee
    }

    /// Returns the object that a closure has captured; nil if it has captured nothing, or anything else. A closure that
    /// has captured one object holds this object itself. Any other closure holds a box, which is not an object. The
    /// first word of the metadata tells the two apart.
    private static func object(at address: UInt) -> AnyObject? {
        guard let box = UnsafePointer<UnsafePointer<UInt>>(bitPattern: address), box.pointee.pointee == classKind else {
            return nil
        }
        return unsafeBitCast(address, to: AnyObject.self)
    }

    private static let classKind: UInt = 0
}

/// Holds the program's code to which a closure passes its calls on. If the forwarder is all that the closure has
/// captured, reports name the program's code instead of the closure's code.
package protocol Forwarder: AnyObject {
    /// The address of the program's code; 0 if it is not known.
    var callee: UInt { get }
}
