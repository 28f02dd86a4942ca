// SPDX-License-Identifier: Apache-2.0
// The program has closed a descriptor that a loop cannot do without, as closefrom(3) does, or a sandbox forbids a call.
//
// Its number may belong to something else by now. A new descriptor would repair this one and hide the rest: usually the
// descriptors of GLib, of libdispatch and of the program are closed, too. So the loss is logged once. Where we drive,
// the process ends: a loop that cannot wait would spin, or sleep for ever. A host goes on without us.

import CGRun
import Glibc

extension GRunLoop {
    /// With the lock held before and after: the kernel has refused `call` for a descriptor of the loop's own.
    func loseDescriptorsLocked(_ call: String, _ error: Int32) {
        guard !hostPoll.isAbandoned else { return }
        if framesLocked.contains(where: { !$0.run.isHosted }) { Self.endForLoss(call, error) }
        hostPoll.abandon()
        for mode in modes.values { mode.descriptors.forgetEpoll() }
        batch.discard()
        wakeDescriptor = -1
        sleep.end()
        lock.unlock()
        Log.critical("\(Self.loss(call, error)). The run loop's host does not serve it any more. Said once")
        lock.lock()
    }

    static func endForLoss(_ call: String = "poll", _ error: Int32 = EBADF) -> Never {
        Log.fatal("\(loss(call, error)). The run loop cannot go on")
    }

    /// Ends the process: a descriptor is closed that is GLib's own, or of a source that ignores it.
    static func endForClosedDescriptor(_ descriptor: Int32) -> Never {
        Log.fatal(
            "descriptor \(descriptor), with which a GMainContext of the run loop waits, is not open any more: "
                + "something in this process has closed it, and each wait ends at once")
    }

    private static func loss(_ call: String, _ error: Int32) -> String {
        if case .forbidden = KernelRefusal(error) { return KernelRefusal.message("\(call)(2)", error) }
        return
            "a descriptor of the run loop's own is gone (\(call): \(errorMessage(error))): something in this process "
            + "has closed it, as closefrom(3) does; close only what is yours"
    }
}
