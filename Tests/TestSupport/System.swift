// SPDX-License-Identifier: Apache-2.0
// System calls that Glibc's module map does not show to Swift.

import Glibc

enum System {
    private static let getThreadID = look("gettid", as: (@convention(c) () -> pid_t).self)
    private static let makePipe = look("pipe2", as: (@convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32).self)
    private static let makeEvent = look("eventfd", as: (@convention(c) (UInt32, Int32) -> Int32).self)
    private static let setName = look(
        "pthread_setname_np", as: (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32).self)

    static func pipe(flags: Int32 = O_CLOEXEC | O_NONBLOCK) -> (readEnd: Int32, writeEnd: Int32) {
        var ends: [Int32] = [-1, -1]
        precondition(makePipe(&ends, flags) == 0, "pipe2 failed with \(errno)")
        return (ends[0], ends[1])
    }

    static func eventDescriptor() -> Int32 {
        let descriptor = makeEvent(0, O_CLOEXEC | O_NONBLOCK)
        precondition(descriptor >= 0, "eventfd failed with \(errno)")
        return descriptor
    }

    static func nameThread(_ name: String) { _ = setName(pthread_self(), String(name.prefix(15))) }

    static var threadID: pid_t { getThreadID() }

    private static func look<Function>(_ name: String, as type: Function.Type) -> Function {
        guard let address = dlsym(nil, name) else { fatalError("the C library has no \(name)") }
        return unsafeBitCast(address, to: type)
    }
}

/// The kernel's thread id of the calling thread.
public var threadID: pid_t { System.threadID }
