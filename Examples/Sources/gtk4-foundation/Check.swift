// SPDX-License-Identifier: Apache-2.0
// The window's self-check: which parts have arrived, and whether the timer was delayed.

import Foundation
import Measuring

@MainActor final class Check {
    private var told: [Part: String] = [:]
    private var ticks: [ContinuousClock.Instant] = []

    init() {
        Thread {
            sleep(20)
            FileHandle.standardError.write(Data("gtk4-foundation: the check has not ended in 20 s\n".utf8))
            _exit(2)
        }.start()
    }

    func has(_ part: Part, _ text: String) {
        told[part] = text
        if part == .timer { ticks.append(.now) }
    }

    /// Everything has arrived and a second has passed, or it takes too long.
    var isOver: Bool { ticks.count >= 20 && told.count == Part.allCases.count || ticks.count >= 200 }

    func status() -> Int32 {
        let late = zip(ticks.dropFirst(), ticks).map { $0 - $1 }.filter { $0 >= .milliseconds(90) }.count
        let lines: [(Part, Bool, String)] = [
            (.timer, ticks.count >= 20 && late <= ticks.count / 10, ", \(late) late by 40 ms and more"),
            (.process, told[.process]?.hasPrefix("Linux ") == true, ""),
            (.session, told[.session] == "\(OnePage.length) bytes", ""),
            (.notifications, isSparse(told[.notifications]), ""),
        ]
        for (part, holds, further) in lines {
            let name = part.rawValue.padding(toLength: 15, withPad: " ", startingAt: 0)
            print("  \(holds ? "ok    " : "FAILED") \(name)\(told[part] ?? "nothing")\(further)")
        }
        return lines.allSatisfy(\.1) ? 0 : 1
    }

    /// The queue has coalesced the notifications if it posted one of three.
    private func isSparse(_ text: String?) -> Bool {
        let numbers = (text ?? "").split { !$0.isNumber }.compactMap { Int($0) }
        return numbers.count == 2 && numbers[0] >= 10 && 2 * numbers[0] <= numbers[1]
    }
}
