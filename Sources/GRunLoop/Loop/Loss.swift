// SPDX-License-Identifier: Apache-2.0
// How a loop handles the loss of its own descriptors: the program has closed one, as closefrom(3) does, or a sandbox
// forbids a call.
//
// The descriptor's number may belong to another file by now. A new descriptor would repair only this one and hide the
// other losses: usually the descriptors of GLib, of libdispatch and of the program are closed, too. So the loss is
// logged once. If the loop runs without a host, the process ends, because a loop that cannot wait would spin, or sleep
// forever. A host goes on without the loop.

import CGRun
import Glibc

extension GRunLoop {
    /// Handles the refusal of a system call for one of the loop's own descriptors. Ends the process if a run without a
    /// host is under way. The lock is held before and after.
    func loseDescriptorsLocked(_ call: String, _ error: Int32) {
        guard !host.poll.isAbandoned else { return }
        if framesLocked.contains(where: { !$0.run.isHosted }) { Self.endForLoss(call, error) }
        host.poll.abandon()
        for mode in modes.values { mode.descriptors.forgetEpoll() }
        batch.discard()
        wakeDescriptor = -1
        sleep.end()
        lock.unlock()
        Log.critical("\(Self.loss(call, error)). The host no longer serves this run loop. Logged once")
        lock.lock()
    }

    static func endForLoss(_ call: String = "poll", _ error: Int32 = EBADF) -> Never {
        Log.fatal("\(loss(call, error)). The run loop cannot continue")
    }

    /// Ends the process, because a descriptor of GLib is closed, or the descriptor of a source that does not notice it.
    static func endForClosedDescriptor(_ descriptor: Int32) -> Never {
        Log.fatal(
            "code in this process has closed descriptor \(descriptor), with which a GMainContext of the run loop "
                + "waits, so each wait ends immediately")
    }

    private static func loss(_ call: String, _ error: Int32) -> String {
        if case .forbidden = KernelRefusal(error) { return KernelRefusal.message("\(call)(2)", error) }
        return
            "code in this process has closed a descriptor of the run loop (\(call): \(errorMessage(error))), for "
            + "example by closefrom(3); close only your own descriptors"
    }
}
