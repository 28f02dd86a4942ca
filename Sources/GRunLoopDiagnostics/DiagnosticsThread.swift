// SPDX-License-Identifier: Apache-2.0
// Threads of the diagnostics.

import CGRun
import Glibc

/// Starts a detached thread that blocks all signals, because only the program's threads must handle signals. Returns 0,
/// or the error of `pthread_create`.
///
/// The thread gets a C function and a pointer instead of a closure, because a stall monitor's thread must allocate no
/// memory before it watches.
func startDiagnosticsThread(
    _ argument: UnsafeMutableRawPointer? = nil,
    _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
) -> Int32 {
    // The new thread inherits the signal mask.
    var all = sigset_t()
    var former = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    var thread = pthread_t()
    let error = pthread_create(&thread, nil, body, argument)
    if error == 0 { pthread_detach(thread) }
    return error
}

/// Names the calling thread. `name` is a literal, because passing a `String` to C would allocate memory.
func setThreadName(_ name: StaticString) {
    cgrun_set_thread_name(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
}
