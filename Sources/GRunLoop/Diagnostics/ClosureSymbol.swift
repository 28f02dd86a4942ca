// SPDX-License-Identifier: Apache-2.0
// Finds the address of a closure's code. The symbol at this address names the function in which the closure was
// written. The address is looked up only when a report needs it, so that the creation of an item costs nothing.

package enum ClosureSymbol {
    // There is one struct for each closure type, because a property of exactly this type consists of the closure's two
    // words. Generic code would wrap the closure in another closure.
    private struct Plain { let body: (() -> Void)? }
    private struct OfTimer { let body: ((GRunLoop.Timer) -> Void)? }
    private struct OfObserver { let body: ((GRunLoop.Observer, GRunLoop.Activity) -> Void)? }
    private struct OfDescriptor {
        let body: (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    }
    private struct OfPort { let body: ((GRunLoop.PortMessage) -> Void)? }

    /// The two words of a closure: the address of its code, and the address of its captured values.
    package struct Words {
        let code: UInt
        let captured: UInt

        static let none = Words(code: 0, captured: 0)
    }

    /// Returns the two words of a closure, or ``Words/none`` if the closure is nil.
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

    /// Returns the address of the code that a closure runs; 0 if it is not known. If the closure only forwards calls to
    /// the program's code, returns the address of the program's code.
    package static func called(by closure: Words) -> UInt {
        guard let object = object(at: closure.captured) as? any Forwarder else { return closure.code }
        let callee = object.callee
        return callee == 0 ? closure.code : callee
    }

    /// Returns the captured object if the closure has captured exactly one object, otherwise nil. A closure that has
    /// captured only one object points to the object itself. Any other closure points to a box, which is not an object.
    /// The first word of the metadata distinguishes an object from a box.
    private static func object(at address: UInt) -> AnyObject? {
        guard let box = UnsafePointer<UnsafePointer<UInt>>(bitPattern: address), box.pointee.pointee == classKind else {
            return nil
        }
        return unsafeBitCast(address, to: AnyObject.self)
    }

    private static let classKind: UInt = 0
}

/// Holds the program's code to which a closure forwards its calls. If a closure has captured only a forwarder, reports
/// name the program's code instead of the closure's code.
package protocol Forwarder: AnyObject {
    /// The address of the program's code; 0 if it is not known.
    var callee: UInt { get }
}
