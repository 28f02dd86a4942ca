// SPDX-License-Identifier: Apache-2.0
// Threads of the diagnostics.

import CGRun
import Glibc

/// Starts a detached thread that blocks all signals, because only the program's threads must handle signals. Returns 0,
/// or the error of `pthread_create`.
func startDiagnosticsThread(_ body: @escaping () -> Void) -> Int32 {
    // The new thread inherits the signal mask.
    var all = sigset_t()
    var former = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(ThreadBody(body))
    let error = pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body() }
            return nil
        }, box.toOpaque())
    if error == 0 { pthread_detach(thread) } else { box.release() }
    return error
}

func setThreadName(_ name: StaticString) {
    cgrun_set_thread_name(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
}

private final class ThreadBody {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}
