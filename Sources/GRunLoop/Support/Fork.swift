// SPDX-License-Identifier: Apache-2.0
// A child process that was forked and did not exec().
//
// fork() copies one thread. A lock that another thread held stays locked in the child for ever, and what it guards may
// be half changed. The descriptors are shared with the parent, whose loop a child would wake. So a child takes no lock
// that is older than itself: every public function checks here first, and so does every deinit of an item. A function
// that does not check ends the child with a message, and does not hang (lock.c).

import CGRun

enum Fork {
    /// Whether this process is such a child. For calls that do nothing there without a message: `isValid`, which is
    /// false; invalidating; releasing. A child may clean up.
    static var isChild: Bool { cgrun_has_forked() }

    /// Whether `call` must do nothing for that reason, which is logged.
    @inline(__always) static func refuses(_ call: StaticString) -> Bool {
        guard isChild else { return false }
        explain(call)
        return true
    }

    static func explain(_ call: StaticString) {
        Log.misuse(call, "\(reason). \(remedy)")
    }

    static var reason: String { "this process was forked and did not exec(); GLib's main loop cannot be used here" }
    static var remedy: String { "Call exec() after fork(), or start the child with GSubprocess" }
}
