// SPDX-License-Identifier: Apache-2.0
// How a loop handles the loss of its own descriptors. A descriptor is lost if the program has closed it, for example
// with closefrom(3), or if a sandbox forbids a system call for it.
//
// The number of a lost descriptor may belong to another file by now. Usually the program has also closed descriptors of
// GLib, of libdispatch and of its own code. A new descriptor for the loop would hide these losses, so the loop logs the
// loss once and makes no new descriptor. If the loop runs without a host, the process ends, because a loop that cannot
// wait would spin or sleep forever. If a host drives, the host continues and no longer serves this loop.

import CGRun
import Glibc

extension GRunLoop {
    /// Called when the kernel refuses a system call for one of the loop's own descriptors. Ends the process if a run
    /// without a host is under way. Releases the lock while it logs.
    func loseDescriptorsLocked(_ call: String, _ error: Int32) {
        guard !host.poll.isAbandoned else { return }
        if framesLocked.contains(where: { !$0.run.isHosted }) { Self.endForLoss(call, error) }
        host.poll.abandon()
        for mode in modes.values { mode.descriptors.forgetEpoll() }
        batch.discard()
        wakeDescriptor = -1
        sleep.end()
        lock.unlock()
        Log.critical("\(Self.loss(call, error)). The host main loop does not serve this run loop any more. Logged once")
        lock.lock()
    }

    static func endForLoss(_ call: String = "poll", _ error: Int32 = EBADF) -> Never {
        Log.fatal("\(loss(call, error)). The run loop cannot continue")
    }

    /// Ends the process, because a descriptor that a context polls is closed. The descriptor belongs to GLib, or to a
    /// GSource that does not notice the error.
    static func endForClosedDescriptor(_ descriptor: Int32) -> Never {
        Log.fatal(
            "the run loop cannot continue, because code in this process has closed descriptor \(descriptor), which a "
                + "GMainContext watches. Code must close only descriptors that it opened")
    }

    private static func loss(_ call: String, _ error: Int32) -> String {
        if case .forbidden = KernelRefusal(error) { return KernelRefusal.message("\(call)(2)", error) }
        return
            "code in this process has closed a descriptor of the run loop (\(call): \(errorMessage(error))), for "
            + "example with closefrom(3). Code must close only descriptors that it opened"
    }
}
