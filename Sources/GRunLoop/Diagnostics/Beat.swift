// SPDX-License-Identifier: Apache-2.0
// What a callout leaves behind for a thread that watches the loop: that one has begun, and which.

import CGRun

/// A callout in one word: what kind it is and, if it is of an item, where that is. The item is not held, and may have
/// gone.
struct CalloutMark {
    enum Kind: UInt {
        case none, block, source, timer, descriptor, mainQueue, context, idleWork, port
        case entry, beforeTimers, beforeSources, beforeWaiting, afterWaiting, exit
    }

    // An object begins at a multiple of 16.
    let bits: UInt

    init(bits: UInt) { self.bits = bits }
    init(_ kind: Kind) { bits = kind.rawValue }
    init(_ kind: Kind, _ item: AnyObject) { bits = UInt(bitPattern: ObjectIdentifier(item)) | kind.rawValue }

    init(_ observer: GRunLoop.Observer, _ activity: GRunLoop.Activity) {
        switch activity {
        case .entry: self.init(.entry, observer)
        case .beforeTimers: self.init(.beforeTimers, observer)
        case .beforeSources: self.init(.beforeSources, observer)
        case .beforeWaiting: self.init(.beforeWaiting, observer)
        case .afterWaiting: self.init(.afterWaiting, observer)
        default: self.init(.exit, observer)
        }
    }

    var kind: Kind { Kind(rawValue: bits & 15) ?? .none }
    /// 0 for none.
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
