// SPDX-License-Identifier: Apache-2.0
// A daemon that runs Foundation's main run loop, and whose sockets and D-Bus are GLib's. It polls GLib
// (daemon-before), or GRunLoop serves GLib (daemon-after).

import CGRunGLib
import Foundation
import GRunLoop
import GRunLoopFoundation
import Measuring

let serving = try GRunLoop.main.serve(RunLoop.main)

let statistics = Timer(fire: Date() + 60, interval: 60, repeats: true) { _ in print("alive") }
RunLoop.main.add(statistics, forMode: .common)
Gain.measureIfAsked()
RunLoop.main.run()
