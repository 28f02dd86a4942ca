// SPDX-License-Identifier: Apache-2.0
// Keeps Core Foundation's timerfds from staying armed for removed timers (Rule.staleTimerDescriptor).

import CoreFoundation
import Foundation
import LoopScript

/// A timer years away beside the real timers of each mode, and never in a mode without timers. So it changes neither
/// which modes are empty nor what fires. CF disarms a timerfd only by arming it for another timer, and the guard is
/// always there for that.
final class TimerGuards {
    /// A date further away than this is a guard's.
    static let nearest: CFTimeInterval = 50_000_000

    private unowned let face: CFFace
    private var guards: [ModeName: CFRunLoopTimer] = [:]
    private var present: Set<ModeName> = []
    private var nudges = 0.0

    init(face: CFFace) { self.face = face }

    /// Adds guards to modes with timers, and removes them from other modes.
    func tend() {
        for mode in face.allModes where mode != "common" {
            let needed = (0..<face.timerCount).contains { face.contains(.timer($0), in: mode) }
            if needed, present.insert(mode).inserted {
                face.addGuard(makeGuard(for: mode), to: mode)
            } else if !needed, present.remove(mode) != nil, let timer = guards[mode] {
                face.removeGuard(timer, from: mode)
            }
        }
    }

    /// When a timer starts firing, makes CF arm the timer's other modes for their next timer.
    func firing(_ timer: Int) {
        for mode in present where face.contains(.timer(timer), in: mode) {
            guard let timer = guards[mode] else { continue }
            nudges += 1
            CFRunLoopTimerSetNextFireDate(timer, distantDate)
        }
    }

    func end() { guards = [:] }

    private var distantDate: CFAbsoluteTime { CFAbsoluteTimeGetCurrent() + 2 * TimerGuards.nearest + nudges }

    private func makeGuard(for mode: ModeName) -> CFRunLoopTimer {
        if let timer = guards[mode] { return timer }
        let timer: CFRunLoopTimer = CFRunLoopTimerCreateWithHandler(nil, distantDate, 0, 0, 0) { _ in }
        guards[mode] = timer
        return timer
    }
}
