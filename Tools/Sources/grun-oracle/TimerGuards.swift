// SPDX-License-Identifier: Apache-2.0
// Keeps Core Foundation's timerfds from staying armed for timers that are gone (Rule.staleTimerDescriptor).

import CoreFoundation
import Foundation
import LoopScript

/// A timer years away beside the real timers of each mode, and never in a mode without any: so it changes neither
/// what is empty nor what fires, and CF, which disarms only by arming for another timer, always has another one.
final class TimerGuards {
    /// A date further away than this is a guard's.
    static let nearest: CFTimeInterval = 50_000_000

    private unowned let face: CFFace
    private var guards: [ModeName: CFRunLoopTimer] = [:]
    private var present: Set<ModeName> = []
    private var nudges = 0.0

    init(face: CFFace) { self.face = face }

    /// Puts guards where there are timers, and only there.
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

    /// Makes CF arm the other modes of a timer that starts firing for their next timer.
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
