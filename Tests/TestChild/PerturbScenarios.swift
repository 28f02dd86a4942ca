// SPDX-License-Identifier: Apache-2.0
// A process that perturbs its own timing, because its environment asks for that before its first loop.

import GRunLoop
import Glibc

let perturbScenarios: [String: @Sendable () throws -> Void] = [
    "perturbed-slice": {
        setenv("GRUN_PERTURB", "7,1000,slice", 1)
        setenv("GRUN_PERTURB_REPORT", "/dev/stdout", 1)
        callBlocksAndTimer()
    },
    "perturbed-elsewhere": {
        setenv("GRUN_PERTURB", "7,1000,sleep+capacity", 1)
        callBlocksAndTimer()
    },
    "perturbed-by-nonsense": {
        setenv("GRUN_PERTURB", "7,20,slices", 1)
        callBlocksAndTimer()
    },
]

/// Makes one pass in which two blocks and a timer are ready.
private func callBlocksAndTimer() {
    let loop = GRunLoop.current
    let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .zero) { _ in print("timer") }
    loop.add(timer, forMode: .default)
    for number in 1...2 { loop.perform { print("block \(number)") } }
    _ = loop.run(mode: .default, for: .zero)
    fflush(nil)
}
