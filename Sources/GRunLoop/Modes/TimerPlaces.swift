// SPDX-License-Identifier: Apache-2.0
// The modes that a timer is in, and its slot in the heap of each.

/// Modes live as long as their loop, and are neither retained nor released here.
extension GRunLoop.Timer {
    var isInNoMode: Bool { firstMode == nil }

    /// Nearly all timers are in one mode, and need no array.
    @inline(__always) func forEachMode(_ body: (ModeState) -> Void) {
        if let firstMode { firstMode._withUnsafeGuaranteedRef(body) }
        if let extras { for place in extras.others { place.mode._withUnsafeGuaranteedRef(body) } }
    }

    func isIn(_ mode: ModeState) -> Bool {
        isFirst(mode) || position(of: mode) != nil
    }

    /// Its slot in the mode's heap. -1 while it is firing: it has left the heap but is still in the mode.
    @inline(__always) func slot(in mode: ModeState) -> Int {
        Int(isFirst(mode) ? firstSlot : position(of: mode).flatMap { extras?.others[$0].slot } ?? -1)
    }

    @inline(__always) func setSlot(_ slot: Int, in mode: ModeState) {
        let slot = Int32(truncatingIfNeeded: slot)
        if extras == nil || isFirst(mode) { firstSlot = slot } else { setOther(slot, in: mode) }
    }

    func join(_ mode: ModeState) {
        if firstMode == nil {
            firstMode = .passUnretained(mode)
        } else {
            needExtras().others.append(TimerExtras.Place(mode: .passUnretained(mode), slot: -1))
        }
    }

    func leave(_ mode: ModeState) {
        if !isFirst(mode) {
            if let position = position(of: mode) { extras?.others.remove(at: position) }
        } else if let extras, !extras.others.isEmpty {
            let next = extras.others.removeFirst()
            firstMode = next.mode
            firstSlot = next.slot
        } else {
            firstMode = nil
            firstSlot = -1
        }
    }

    @inline(__always) private func isFirst(_ mode: ModeState) -> Bool {
        firstMode === mode
    }

    private func position(of mode: ModeState) -> Int? {
        extras?.others.firstIndex { $0.mode === mode }
    }

    @inline(never) private func setOther(_ slot: Int32, in mode: ModeState) {
        if let position = position(of: mode) { extras?.others[position].slot = slot }
    }
}
