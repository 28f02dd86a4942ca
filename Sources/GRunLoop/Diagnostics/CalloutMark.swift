// SPDX-License-Identifier: Apache-2.0
// A callout packed into one machine word, and the detail of the called item that a report shows.

/// A callout packed into one word: its kind and, if it calls an item, the item's address. The mark does not retain the
/// item, which may have been released already.
package struct CalloutMark {
    /// The low four bits hold the kind or, for an observer, the activity. The address needs none of these bits, because
    /// it is a multiple of 16. All bits are zero if the loop calls nothing, for example when it handles a wake-up.
    let bits: UInt

    private static let firstActivity = UInt(ItemKind.observer.rawValue)

    init(bits: UInt) { self.bits = bits }
    package init(_ kind: ItemKind) { bits = UInt(kind.rawValue) }
    init(_ kind: ItemKind, _ item: AnyObject) { bits = Self.address(of: item) | UInt(kind.rawValue) }

    init(_ observer: GRunLoop.Observer, _ activity: GRunLoop.Activity) {
        // The six activities have the bits 0 to 2 and 5 to 7.
        let bit = UInt(activity.rawValue.trailingZeroBitCount)
        bits = Self.address(of: observer) | (Self.firstActivity + (bit < 3 ? bit : bit - 2))
    }

    static func address(of item: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(item)) }

    /// The kind and the activity in one number, which is below 16.
    package var code: UInt { bits & 15 }
    /// The kind of the callout; nil if there is no callout.
    package var kind: ItemKind? {
        guard code != 0 else { return nil }
        return ItemKind(rawValue: UInt8(code < Self.firstActivity ? code : Self.firstActivity))
    }
    /// The activity that the observer is notified of; nil if the callout does not call an observer.
    package var activity: GRunLoop.Activity? {
        guard code >= Self.firstActivity else { return nil }
        let index = code - Self.firstActivity
        return GRunLoop.Activity(rawValue: 1 << (index < 3 ? index : index + 2))
    }
    /// The address of the item; 0 if the callout has no item.
    package var item: UInt { bits & ~15 }
    /// The item; nil if the callout has no item. Read this property only during the callout, which keeps the item
    /// alive.
    package var object: AnyObject? {
        UnsafeRawPointer(bitPattern: item).map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// A detail of an item that a report shows besides the item's kind. The text of the detail is made after the loop's
/// lock is released, because making a text allocates memory.
package enum ItemDetail {
    case order(Int)
    /// The interval of a timer; 0 if the timer fires once.
    case period(Nanoseconds)
    /// The kind and the number of the thing that a descriptor source watches. The kind is a string literal.
    case subject(kind: String, Int32)
    /// Other text, which is a string literal.
    case words(String)

    /// Returns the detail of an item; nil if the item has no detail. Allocates no memory.
    ///
    /// Takes no lock: the caller holds the lock of the item's loop, or ensures that the item does not change meanwhile.
    static func locked(of item: AnyObject) -> ItemDetail? {
        switch item {
        case let source as GRunLoop.Source: .order(source.order)
        case let timer as GRunLoop.Timer: .period(timer.dates.period)
        case let source as GRunLoop.DescriptorSource: .subject(kind: source.subject.kind, source.subject.number)
        case let observer as GRunLoop.Observer: .order(observer.order)
        default: nil
        }
    }

    /// Returns the detail of an item that is about to be called; nil if the item has no detail. Call this function
    /// without a lock.
    package static func ofCalled(_ item: AnyObject) -> ItemDetail? {
        guard let timer = item as? GRunLoop.Timer else { return locked(of: item) }
        return timer.guardian.withLock { locked(of: timer) }
    }

    package var text: String {
        switch self {
        case .order(let order): "order \(order)"
        case .period(let period): period == 0 ? "fires once" : "every \(briefSeconds(period)) s"
        case .subject(let kind, let number): "\(kind) \(number)"
        case .words(let words): words
        }
    }
}
