// SPDX-License-Identifier: Apache-2.0
// What a callout leaves behind for a thread that watches the loop: that one has begun, and which.

import CGRun

/// A callout in one word: its kind and, if the loop calls an item, the item's address. The item is not retained, and
/// may have been released.
struct CalloutMark {
    /// The lowest four bits are the kind, of an observer the activity behind the kinds. An object begins at a multiple
    /// of 16. 0: no callout, since the loop calls nothing for a wake-up.
    let bits: UInt

    private static let firstActivity = UInt(ItemKind.observer.rawValue)

    init(bits: UInt) { self.bits = bits }
    init(_ kind: ItemKind) { bits = UInt(kind.rawValue) }
    init(_ kind: ItemKind, _ item: AnyObject) { bits = Self.address(of: item) | UInt(kind.rawValue) }

    init(_ observer: GRunLoop.Observer, _ activity: GRunLoop.Activity) {
        // The six activities are the bits 0 to 2 and 5 to 7.
        let bit = UInt(activity.rawValue.trailingZeroBitCount)
        bits = Self.address(of: observer) | Self.firstActivity + (bit < 3 ? bit : bit - 2)
    }

    static func address(of item: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(item)) }

    /// The kind and the activity in one number, which is below 16.
    var code: UInt { bits & 15 }
    /// Nil without a callout.
    var kind: ItemKind? { code == 0 ? nil : ItemKind(rawValue: UInt8(min(code, Self.firstActivity))) }
    /// For an observer.
    var activity: GRunLoop.Activity? {
        guard code >= Self.firstActivity else { return nil }
        let index = code - Self.firstActivity
        return GRunLoop.Activity(rawValue: 1 << (index < 3 ? index : index + 2))
    }
    /// 0 without an item.
    var item: UInt { bits & ~15 }
    /// While it is called, which holds it.
    var object: AnyObject? {
        UnsafeRawPointer(bitPattern: item).map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The item's properties besides its kind. Takes no lock: the item is not changed meanwhile, or its loop's lock is
    /// held. Allocates no memory.
    static func detail(of item: AnyObject) -> ItemDetail? {
        switch item {
        case let source as GRunLoop.Source: .order(source.order)
        case let timer as GRunLoop.Timer: .period(timer.dates.period)
        case let source as GRunLoop.DescriptorSource: .subject(kind: source.subject.kind, source.subject.number)
        case let observer as GRunLoop.Observer: .order(observer.order)
        default: nil
        }
    }
}

/// The part of a report about an item. Its text is made without the loop's lock, because that allocates memory.
enum ItemDetail {
    case order(Int)
    /// 0 if a timer fires once.
    case period(Nanoseconds)
    /// The kind is a literal.
    case subject(kind: String, Int32)
    /// A literal.
    case words(String)

    var text: String {
        switch self {
        case .order(let order): "order \(order)"
        case .period(let period): period == 0 ? "fires once" : "every \(briefSeconds(period)) s"
        case .subject(let kind, let number): "\(kind) \(number)"
        case .words(let words): words
        }
    }
}

extension GRunLoop {
    /// Before the program is called. While no loop of the process is traced, recorded or watched, it costs a comparison
    /// with a word at a fixed address, and a jump.
    ///
    /// - Parameters:
    ///   - closure: what is called, if that is known.
    ///   - due: of a delayed perform, its deadline.
    @inline(__always) func begin(
        _ mark: @autoclosure () -> CalloutMark, _ callout: @autoclosure () -> Trace.Callout,
        _ activity: Activity? = nil, closure: @autoclosure () -> Code.Words = .none,
        due: @autoclosure () -> Nanoseconds? = nil
    ) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_inspecting()) {
                let wants = cgrun_beat_begin(beat)
                // What calls out has a frame.
                innermost.unsafelyUnwrapped._withUnsafeGuaranteedRef {
                    $0.callout.store(mark().bits, ordering: .relaxed)
                }
                if _slowPath(wants != 0) { cgrun_beat_answer(beat) }
                if _slowPath(cgrun_is_tracing()) {
                    if tracer != nil { record(callout(), activity) }
                    record(mark(), closure(), due: due())
                }
            }
        #endif
    }

    /// With the lock held: a run begins, in a frame that may have been another one's. A host's sleep is over then, also
    /// if GLib has left the hub's check out.
    func beatAtEntryLocked() {
        _ = cgrun_beat_begin(beat)
        frame?.callout.store(0, ordering: .relaxed)
        if let frame, !frame.run.isHosted { sleep.end() }
    }

    /// With the lock held, a host iterates the home context: GLib says when its polls begin and have ended, as long as
    /// the loop is watched or recorded. Where we drive nobody pays for that.
    func beatWithHostLocked() {
        guard recordsHostLocked() || watchers > 0 else { return stopBeatingLocked() }
        guard beatSource == nil, let home else { return }
        beatSource = BeatSource(of: beat, in: home.context)
        // It is not prepared any more before the poll that follows.
        cgrun_beat_note_poll(beat)
    }

    /// With the lock held: the home context is another, or nobody looks any more.
    func stopBeatingLocked() {
        beatSource.take()?.close()
    }
}
