// SPDX-License-Identifier: Apache-2.0
// A host drives: the hub's dispatch runs passes inside the host's iteration.

extension GRunLoop {
    /// How many passes one dispatch of the hub runs at most, so that the host gets its turn.
    private static let passesPerDispatch = 64

    /// Serves what is ready, pass by pass, as a run in the default mode that never sleeps and never ends. It looks at everything anew:
    /// GLib's READY flag survives passes.
    func serveHost() {
        // A READY that is left over from g_main_context_pending() makes our own dispatch of the home context call the hub as well: then a
        // run of ours is under way, in its own mode.
        guard isCurrent, !refuses("hub"), Contexts.depth != ownDispatchDepth else { return }
        if isMain { MainQueue.explainIfLost() }
        if let shortage = takeHostShortage() { Log.critical(shortage) }
        lock.lock()
        guard !isDead else { return lock.unlock() }
        let run = Activation(mode: modeLocked(.default), parent: activation, isHosted: true)
        sleep.end()
        host.isWakePending = false
        activation = run
        batch.discard()
        acknowledgeHostTimerLocked()
        if !host.hasEntered {
            host.hasEntered = true
            notifyLocked(.entry, run.mode)
        }
        for _ in 0..<Self.passesPerDispatch where !runPassLocked(run).foundSomething { break }
        batch.discard()
        activation = run.parent
        lock.unlock()
        run.kept.removeAll()
    }
}
