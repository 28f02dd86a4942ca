// SPDX-License-Identifier: Apache-2.0
// How a loop notes each callout that begins, for stall monitors and for timelines.

import CGRun

/// A callout packed into one word: its kind and, if it calls an item, the item's address. The mark does not retain the
/// item, which may have been released already.
struct CalloutMark {
    /// The kind is in the low four bits; for an observer they hold the activity. These bits of an object's address are
    /// zero, because objects begin at multiples of 16. All bits are zero if there is no callout: for a wake-up the loop
    /// calls nothing.
    let bits: UInt

    private static let firstActivity = UInt(ItemKind.observer.rawValue)

    init(bits: UInt) { self.bits = bits }
    init(_ kind: ItemKind) { bits = UInt(kind.rawValue) }
    init(_ kind: ItemKind, _ item: AnyObject) { bits = Self.address(of: item) | UInt(kind.rawValue) }

    init(_ observer: GRunLoop.Observer, _ activity: GRunLoop.Activity) {
        // The six activities are the bits 0 to 2 and 5 to 7.
        let bit = UInt(activity.rawValue.trailingZeroBitCount)
        bits = Self.address(of: observer) | (Self.firstActivity + (bit < 3 ? bit : bit - 2))
    }

    static func address(of item: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(item)) }

    /// The kind and the activity in one number, which is below 16.
    var code: UInt { bits & 15 }
    /// Nil if there is no callout.
    var kind: ItemKind? {
        guard code != 0 else { return nil }
        return ItemKind(rawValue: UInt8(code < Self.firstActivity ? code : Self.firstActivity))
    }
    /// The activity that an observer is called for.
    var activity: GRunLoop.Activity? {
        guard code >= Self.firstActivity else { return nil }
        let index = code - Self.firstActivity
        return GRunLoop.Activity(rawValue: 1 << (index < 3 ? index : index + 2))
    }
    /// The address of the item; 0 if the callout has no item.
    var item: UInt { bits & ~15 }
    /// The item; nil if the callout has none. Valid only during the callout, which keeps the item alive.
    var object: AnyObject? {
        UnsafeRawPointer(bitPattern: item).map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns what a report says about an item besides its kind; nil if it says nothing more. Allocates no memory.
    ///
    /// This function takes no lock. The caller holds the lock of the item's loop, or makes sure that the item is not
    /// changed meanwhile.
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

/// What a report says about an item besides its kind. Its text is made after the loop's lock is released, because
/// making a text allocates memory.
enum ItemDetail {
    case order(Int)
    /// The interval of a timer; 0 if the timer fires once.
    case period(Nanoseconds)
    /// The kind and number of what a descriptor source watches. The kind is a literal.
    case subject(kind: String, Int32)
    /// Other words, which are a literal.
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
    /// Notes that a callout begins. It is called right before the program's code. While no loop of the process is
    /// traced, recorded or watched, it costs a comparison with a word at a fixed address, and a jump.
    ///
    /// - Parameters:
    /// - closure: the closure that is called; `.none` if it is not known.
    /// - due: the deadline of a delayed perform; nil for any other callout.
    @inline(__always) func begin(
        _ mark: @autoclosure () -> CalloutMark, _ callout: @autoclosure () -> Trace.Callout,
        _ activity: Activity? = nil, closure: @autoclosure () -> ClosureSymbol.Words = .none,
        due: @autoclosure () -> Nanoseconds? = nil
    ) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_inspecting()) {
                let wants = cgrun_beat_begin(beat)
                // Code that calls out always has a frame.
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

    /// Notes that a run begins. Call it with the lock held.
    ///
    /// The frame may be left over from an earlier run, so the frame's last callout is cleared. A run of ours also ends
    /// the host's sleep, because GLib may have left out the hub's check function.
    func beatAtEntryLocked() {
        _ = cgrun_beat_begin(beat)
        frame?.callout.store(0, ordering: .relaxed)
        if let frame, !frame.run.isHosted { sleep.end() }
    }

    /// Has GLib report when the host's polls begin and end, as long as the loop is watched or recorded. Called with the
    /// lock held, while a host iterates the home context. A loop that drives itself pays nothing for these reports.
    func beatWithHostLocked() {
        guard recordsHostLocked() || watchers > 0 else { return stopBeatingLocked() }
        guard beatSource == nil, let home else { return }
        beatSource = BeatSource(of: beat, in: home.context)
        // GLib no longer prepares the new source before the poll that follows, so this poll is noted here.
        cgrun_beat_note_poll(beat)
    }

    /// Ends the reports of the host's polls. Called with the lock held, when the home context changes, or when no one
    /// watches or records the loop any more.
    func stopBeatingLocked() {
        beatSource.take()?.close()
    }
}
