// SPDX-License-Identifier: Apache-2.0
// Checks for a forked child: a process that was forked and did not exec().
//
// fork() copies only one thread. If another thread held a lock, the lock stays locked in the child forever, and the
// data that it guards may be half changed. The child shares its descriptors with the parent, so a call in the child
// could wake the parent's loop. Therefore every public function, and every deinit of an item, checks for a child before
// it takes a lock. If a function does not check, the lock ends the child with a message instead of letting it hang
// (lock.c).

import CGRun

package enum Fork {
    /// Whether this process is a forked child. `isValid`, `invalidate()` and every deinit read this property and log
    /// nothing, because a child is allowed to clean up.
    package static var isChild: Bool { cgrun_has_forked() }

    /// Returns whether this process is a forked child, so that `call` must do nothing. In a forked child, logs `call`.
    ///
    /// - Parameter kind: the kind of the call's item, for the message: `add` and `Timer` make `add(Timer)`.
    @inline(__always) package static func refuses(_ call: StaticString, _ kind: StaticString? = nil) -> Bool {
        guard isChild else { return false }
        explain(call, kind)
        return true
    }

    private static func explain(_ call: StaticString, _ kind: StaticString?) { explain(name(of: call, kind)) }

    static func name(of call: StaticString, _ kind: StaticString?) -> String {
        kind.map { "\(call)(\($0))" } ?? "\(call)"
    }

    static func explain(_ call: String) {
        Log.misuse(call, "\(reason). \(remedy)")
    }

    package static var reason: String {
        "this process was forked and did not exec(); GLib's main loop cannot be used here"
    }
    package static var remedy: String { "Call exec() after fork(), or start the child with GSubprocess" }
}
