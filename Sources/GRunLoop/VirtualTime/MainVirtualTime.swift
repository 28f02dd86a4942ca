// SPDX-License-Identifier: Apache-2.0
// Virtual time of the main loop, for a test that awaits: the clock stands still until the test moves it.

extension GRunLoop {
    /// Gives the main loop a virtual clock, which stands still, until ``endVirtualTime()`` is called. Call this
    /// function on the main thread.
    package func beginVirtualTime(from start: Instant) {
        VirtualClock.ofMainLoop.begin(at: Nanoseconds(saturating: start))
        setVirtualClock(.ofMainLoop)
    }

    /// Gives the main loop the real clock again. Items keep their dates. Call this function on the main thread.
    package func endVirtualTime() {
        setVirtualClock(nil)
        VirtualClock.ofMainLoop.end()
        wakeUp()
    }

    private func setVirtualClock(_ clock: VirtualClock?) {
        lock.withLock {
            virtualClock.store(clock.map(Unmanaged.passUnretained), ordering: .releasing)
            host.poll.isTimeVirtual = clock != nil
        }
    }

    /// Moves the virtual clock of the main loop forward, and makes the loop check its timers. Call this function on the
    /// main thread.
    package func moveVirtualTime(to date: Instant) {
        virtualTime?.move(to: Nanoseconds(saturating: date))
        wakeUp()
    }

    /// Returns whether the loop's virtual clock stands still while the frame sleeps.
    func clockStands(in frame: Frame) -> Bool { virtualTime?.stands(in: frame) ?? false }

    /// The latest date at which the next timer or delayed perform of the mode fires; nil if the mode has neither.
    package func nextDeadline(in mode: Mode) -> Instant? {
        let earliest = earliestDeadline(in: mode)
        return earliest == .never ? nil : earliest.instant
    }
}
