// SPDX-License-Identifier: Apache-2.0
// What a sanitizer is to see in optimized code, where the standard library's arrays are part of ours.

import GRunLoop
import TestSupport

/// A source is signalled by one thread while others put it into modes of two loops and take it out.
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
