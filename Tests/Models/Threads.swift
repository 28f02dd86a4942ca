// SPDX-License-Identifier: Apache-2.0
// Threads for models: several at the same time, and a thread that owns contexts on request.

import CGRunGLib
import Glibc

/// Runs each body on its own thread, and returns when all have returned.
func runOnThreads(_ bodies: [@Sendable () -> Void]) {
    let threads = bodies.map(startThread)
    for thread in threads { pthread_join(thread, nil) }
}

func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Body {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let problem = pthread_create(
        &thread, nil,
        { pointer in
            if let pointer { Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().body() }
            return nil
        }, Unmanaged.passRetained(Body(body)).toOpaque())
    guard problem == 0 else { fatalError("pthread_create: \(String(cString: strerror(problem)))") }
    return thread
}

/// Another thread, which can be the owner of contexts.
final class OtherOwner: @unchecked Sendable {
    private enum Order {
        case acquire(OpaquePointer)
        case release(OpaquePointer)
        case end
    }

    private var order = Order.end
    private var isAcquired = false
    private let given = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let done = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private var thread = pthread_t()

    init() {
        sem_init(given, 0, 0)
        sem_init(done, 0, 0)
        thread = startThread { [unowned self] in obey() }
    }

    /// Returns whether the other thread owns the context now.
    func acquire(_ context: OpaquePointer) -> Bool {
        give(.acquire(context))
        return isAcquired
    }

    func release(_ context: OpaquePointer) { give(.release(context)) }

    func end() {
        give(.end)
        pthread_join(thread, nil)
        sem_destroy(given)
        sem_destroy(done)
        given.deallocate()
        done.deallocate()
    }

    private func give(_ order: Order) {
        self.order = order
        sem_post(given)
        while sem_wait(done) != 0 {}
    }

    private func obey() {
        while true {
            while sem_wait(given) != 0 {}
            defer { sem_post(done) }
            switch order {
            case .acquire(let context): isAcquired = g_main_context_acquire(context) != 0
            case .release(let context): g_main_context_release(context)
            case .end: return
            }
        }
    }
}
