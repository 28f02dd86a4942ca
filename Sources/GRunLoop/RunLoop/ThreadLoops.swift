// SPDX-License-Identifier: Apache-2.0
// Which thread has which loop: made at first need, ended with the thread.

import CGRun
import Glibc

enum ThreadLoops {
    /// Where every thread keeps its loop, retained.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, threadWillEnd) == 0, "GRunLoop: no thread-specific key is left")
        return key
    }()

    static let main: GRunLoop = {
        let loop = GRunLoop(isMain: true)
        // The home context is fixed at first touch, so that a host that iterates it finds the hub there.
        loop.lock.withLock { loop.fixHomeLocked() }
        return loop
    }()

    static var current: GRunLoop {
        if let loop = currentIfAny { return loop }
        let loop = GRunLoop(isMain: false)
        pthread_setspecific(key, Unmanaged.passRetained(loop).toOpaque())
        return loop
    }

    /// The calling thread's loop, if it has one. The main thread always has.
    static var currentIfAny: GRunLoop? {
        if let known = pthread_getspecific(key) {
            return Unmanaged<GRunLoop>.fromOpaque(known).takeUnretainedValue()
        }
        guard cgrun_gettid() == getpid() else { return nil }
        pthread_setspecific(key, Unmanaged.passRetained(main).toOpaque())
        return main
    }

    /// Other thread-specific destructors may still use the loop: it goes in the last round of them (item 12).
    private static let threadWillEnd: @convention(c) (UnsafeMutableRawPointer?) -> Void = { known in
        guard let known else { return }
        let loop = Unmanaged<GRunLoop>.fromOpaque(known)
        let isLastRound = loop.takeUnretainedValue().countDestructorRound() >= PTHREAD_DESTRUCTOR_ITERATIONS - 1
        guard isLastRound else {
            pthread_setspecific(key, known)
            return
        }
        loop.takeUnretainedValue().endWithThread()
        loop.release()
    }
}
