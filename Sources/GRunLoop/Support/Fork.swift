// SPDX-License-Identifier: Apache-2.0
// A child process that was forked and did not exec().
//
// fork() copies only one thread. A lock that another thread held stays locked in the child forever, and the data that
// it guards may be half changed. The descriptors are shared with the parent, so the child would wake the parent's loop.
// Therefore a child takes no lock that is older than the child. Every public function checks here first, and so does
// every deinit of an item. A function that does not check ends the child with a message instead of hanging (lock.c).

import CGRun

package enum Fork {
    /// Whether this process is a forked child. It is for calls that do nothing in a child, without a message:
    /// `isValid`, which is false, invalidating, and releasing. A child may clean up.
    package static var isChild: Bool { cgrun_has_forked() }

    /// Returns whether `call` must do nothing because this process is a forked child, and logs it.
    ///
    /// - Parameter kind: the kind of the item that the call is about: `add` and `Timer` make `add(Timer)`.
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
