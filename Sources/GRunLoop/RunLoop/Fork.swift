// SPDX-License-Identifier: Apache-2.0
// A child process that was forked and did not exec().
//
// fork() copies one thread. What another one had locked then stays locked in the child for ever, with what it guards
// half changed; and the descriptors are the parent's, whose loop would be woken. So a child takes no lock that is older
// than itself: whatever a program can call looks here first, as does whatever goes with the last reference to an item.
// What was forgotten does not hang for ever: it ends the child, with a message (lock.c).

import CGRun

enum Fork {
    /// Whether this process is such a child. For what is silent there: whether an item is valid, which none is; to
    /// invalidate it; to let go of it. A child that cleans up has done nothing wrong.
    @inline(__always) static var isChild: Bool { cgrun_has_forked() }

    /// Whether `call` can do nothing for that reason, which is said.
    @inline(__always) static func refuses(_ call: StaticString) -> Bool {
        guard isChild else { return false }
        explain(call)
        return true
    }

    @inline(never) static func explain(_ call: StaticString) {
        Log.misuse(call, "\(reason). \(remedy)")
    }

    static var reason: String { "this process was forked and did not exec(); GLib's main loop cannot be used here" }
    static var remedy: String { "Call exec() after fork(), or start the child with GSubprocess" }
}
