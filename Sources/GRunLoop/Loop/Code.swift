// SPDX-License-Identifier: Apache-2.0
// Where the code of a closure is: its symbol says which function it was written in. It is looked up when somebody
// reads it, so that making an item costs nothing for it.

enum Code {
    // A function has its own layout as a property of its own type only; in generic code it is wrapped in another one.
    private struct Plain { let body: (@Sendable () -> Void)? }
    private struct OfTimer { let body: (@Sendable (GRunLoop.Timer) -> Void)? }
    private struct OfObserver { let body: (@Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void)? }
    private struct OfDescriptor {
        let body: @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    }
    private struct OfPort { let body: (@Sendable (GRunLoop.PortMessage) -> Void)? }

    /// The code and what it has captured.
    private typealias Words = (code: UInt, captured: UInt)

    /// 0 for nil.
    static func of(_ body: (@Sendable () -> Void)?) -> UInt {
        unsafeBitCast(Plain(body: body), to: Words.self).code
    }

    static func of(_ body: (@Sendable (GRunLoop.Timer) -> Void)?) -> UInt {
        unsafeBitCast(OfTimer(body: body), to: Words.self).code
    }

    static func of(_ body: (@Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void)?) -> UInt {
        unsafeBitCast(OfObserver(body: body), to: Words.self).code
    }

    static func of(
        _ body: @escaping @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    ) -> UInt {
        unsafeBitCast(OfDescriptor(body: body), to: Words.self).code
    }

    static func of(_ body: (@Sendable (GRunLoop.PortMessage) -> Void)?) -> UInt {
        unsafeBitCast(OfPort(body: body), to: Words.self).code
    }
}
