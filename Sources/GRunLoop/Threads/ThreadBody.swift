// SPDX-License-Identifier: Apache-2.0
// The code of a worker thread, from its start to its end.

import CGRun
import Glibc

/// The state that a worker thread shares with its ``GRunLoop/Thread`` object.
final class ThreadBody: @unchecked Sendable {
    typealias Started = Result<(pthread_t, GRunLoop), GRunLoop.SystemError>

    /// The smallest stack size, in bytes. Swift's runtime builds the metadata of a type on the stack of the thread that
    /// first uses the type.
    private static let leastStackSize = 512 * 1024

    private let name: String
    private let isRunning = Semaphore()
    private let lock = Lock.take()
    // Closures to call at the thread's end; nil after the end. Guarded by the lock.
    private var waiting: [@Sendable () -> Void]? = []
    // The thread that calls ``start(stackSize:)`` uses these properties before and after it waits for `isRunning`. The
    // new thread uses them during the wait.
    private var setUp: (@Sendable (isolated GRunLoop.Isolation) -> Void)?
    private var loop: GRunLoop?
    // Used only by the new thread.
    private var hasBegun = false
    private var context: OpaquePointer?

    private let reapLock = Lock.take()
    /// Guarded by `reapLock`.
    private var isReaped = false

    init(name: String, setUp: (@Sendable (isolated GRunLoop.Isolation) -> Void)?) {
        self.name = name
        self.setUp = setUp
    }

    deinit {
        Lock.giveBack(lock)
        Lock.giveBack(reapLock)
    }

    func start(stackSize: Int) -> Started {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if stackSize > 0 {
            let page = Int(sysconf(Int32(_SC_PAGESIZE)))
            // Without the limit `.max / 2`, the rounding could overflow. The system refuses a stack of that size
            // anyway.
            let size = min(max(stackSize, Self.leastStackSize), .max / 2)
            pthread_attr_setstacksize(&attributes, (size + page - 1) / page * page)
        }
        var handle = pthread_t()
        let own = Unmanaged.passRetained(self)
        let error = pthread_create(
            &handle, &attributes,
            { argument in
                if let argument { ThreadBody.enter(argument) }
                return nil
            }, own.toOpaque())
        guard error == 0 else {
            own.release()
            return .failure(.init(creatingThread: error))
        }
        isRunning.wait()
        defer { loop = nil }
        guard let loop else {
            reap(handle)
            return .failure(.limitReached(errno: EMFILE))
        }
        return .success((handle, loop))
    }

    /// The key of the thread-specific data in which a worker thread keeps its ``ThreadBody``, retained until the thread
    /// ends. A reference on the stack would leak if the thread calls `pthread_exit` or is cancelled, because the thread
    /// does not return to its frames.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key) { if let own = $0 { ThreadBody.leave(own) } }
        if error != 0 { ThreadLoops.endForMissingKey(error) }
        return key
    }()

    private static func enter(_ own: UnsafeMutableRawPointer) {
        pthread_setspecific(key, own)
        Unmanaged<ThreadBody>.fromOpaque(own)._withUnsafeGuaranteedRef { $0.main() }
        pthread_setspecific(key, nil)
        Unmanaged<ThreadBody>.fromOpaque(own).release()
    }

    /// Ends a thread that did not return from its main function. This function is a destructor of thread-specific data,
    /// so GLib's thread-specific data may be destroyed already.
    private static func leave(_ own: UnsafeMutableRawPointer) {
        let body = Unmanaged<ThreadBody>.fromOpaque(own).takeRetainedValue()
        ThreadLoops.endCurrent()
        if let context = body.context { Contexts.release(context) }
        body.notifyWaiters()
    }

    private func main() {
        cgrun_set_thread_name(name)
        context = Contexts.pushNew()
        if let context {
            run()
            ThreadLoops.endCurrent()
            Contexts.pop(context)
        }
        notifyWaiters()
    }

    /// Wakes the starting thread if it still waits, and calls the closures of ``whenEnded(_:)``. This is the thread's
    /// last step.
    private func notifyWaiters() {
        notifyStarter()
        let ended = lock.withLock {
            defer { waiting = nil }
            return waiting ?? []
        }
        for tell in ended { tell() }
    }

    private func notifyStarter() {
        guard !hasBegun else { return }
        hasBegun = true
        isRunning.signal()
    }

    private func run() {
        let loop = GRunLoop.current
        self.loop = loop
        // Makes the executor, whose source keeps the run from finishing.
        _ = loop.executor
        if let setUp { loop.isolation.assumeIsolated { setUp($0) } }
        setUp = nil
        // Reports the start from inside the run. If the caller stopped the thread before the run began, the stop would
        // be ignored.
        loop.perform { [self] in notifyStarter() }
        loop.run()
        // If the block was not called, the loop did not run, because no descriptor was left for its sleep.
        if !hasBegun { self.loop = nil }
    }

    /// Calls `body` as the thread's last step. If the thread has ended, calls `body` immediately on the calling thread.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        let hasEnded = lock.withLock { () -> Bool in
            waiting?.append(body)
            return waiting == nil
        }
        if hasEnded { body() }
    }

    /// Joins the thread, if it was not joined yet. Call this function after the thread's last step. Destructors of
    /// thread-specific data can still delay the join.
    func reap(_ handle: pthread_t) {
        reapLock.withLock {
            if !isReaped { pthread_join(handle, nil) }
            isReaped = true
        }
    }

    /// Detaches the thread if it was not joined, because no thread will join it later.
    func letGo(_ handle: pthread_t) {
        reapLock.withLock {
            if !isReaped { pthread_detach(handle) }
            isReaped = true
        }
    }
}
