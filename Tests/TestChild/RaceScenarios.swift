// SPDX-License-Identifier: Apache-2.0
// Code for a sanitizer in an optimized build, which inlines the standard library's arrays.

import GRunLoop
import TestSupport

/// One thread signals a source, while other threads add it to modes of two loops and remove it.
func signalsBesideMemberships() {
    let threads = [LoopThread.running(), LoopThread.running()]
    let (performed, isOver) = (Counter(), Flag())
    let source = threads[0].loop.source { performed.increment() }
    threads[0].loop.add(source, forMode: "M")
    let movers = threads.map { thread in
        startThread {
            while !isOver.isSet {
                thread.loop.add(source, forMode: "N")
                thread.loop.remove(source, forMode: "N")
            }
        }
    }
    var missed = 0
    for _ in 0..<300 {
        let before = performed.value
        for _ in 0..<40 { source.signal() }
        threads[0].loop.wakeUp()
        if !performed.wait(for: before + 1) { missed += 1 }
    }
    isOver.set()
    for mover in movers { join(mover) }
    for thread in threads { thread.finish() }
    say("missed \(missed)")
}
