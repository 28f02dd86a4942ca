// SPDX-License-Identifier: Apache-2.0
// This library beside another bridge in the same process: nothing is lost, nothing spins, and a message says what to
// remove.

import Bridges
import CGRunGLib
import Foundation
import GRunLoop
import Measuring

struct Beside {
    enum Other: String, CaseIterable {
        case polling
        case dispatch
        /// The other bridge was there before this library.
        case dispatchEarlier = "dispatch-earlier"
        /// The other bridge has a higher priority than this library.
        case dispatchFirst = "dispatch-first"
        /// The other bridge drains the queue without reading the eventfd.
        case dispatchWithoutRead = "dispatch-without-read"

        func install() {
            switch self {
            case .polling: Bridge.polling.install()
            case .dispatch, .dispatchEarlier: DispatchBridge.install()
            case .dispatchFirst: DispatchBridge.install(priority: G_PRIORITY_HIGH)
            case .dispatchWithoutRead: DispatchBridge.install(reads: false)
            }
        }
    }

    private let other: Other
    init(_ other: Other) { self.other = other }

    func check() -> Bool {
        if other == .dispatchEarlier { other.install() }
        _ = GRunLoop.main
        if other != .dispatchEarlier { other.install() }
        // The check of GRUN_CHECK works for a second and a half. In the flood, the other bridge would sometimes run a
        // block of the check.
        MainLoop().run(atMost: 2)
        let count = Count()
        let loop = MainLoop()
        let each = 2000
        for thread in 0..<2 {
            Foundation.Thread.detachNewThread {
                for number in 0..<each {
                    DispatchQueue.main.async { if count.increment() == 2 * each { loop.quit() } }
                    if number % 8 == thread { usleep(.random(in: 0...500)) }
                }
            }
        }
        loop.run(atMost: 20)
        let wakeUps = Rows.wakeUpsASecond()
        let most = other == .polling ? 21 : 1
        print("\(other.rawValue): \(count.value) of \(2 * each) blocks, \(wakeUps) wake-ups a second while idle")
        return count.value == 2 * each && wakeUps <= most
    }
}
