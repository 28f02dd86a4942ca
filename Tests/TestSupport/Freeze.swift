// SPDX-License-Identifier: Apache-2.0
// Holds a sleeping thread inside its wait, so that another thread can act during that wait.

import Glibc

enum Freeze {
    private struct Descriptors {
        var arrived: Int32
        var release: Int32
        var arrival: Int32
        var releaser: Int32
    }

    /// Made before the handler is installed, because the handler only reads it.
    private static let descriptors: Descriptors = {
        var ends: [Int32] = [-1, -1, -1, -1]
        let isMade = ends.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            return pipe(base) == 0 && pipe(base + 2) == 0
        }
        precondition(isMade, "pipe failed with \(errno)")
        return Descriptors(arrived: ends[1], release: ends[2], arrival: ends[0], releaser: ends[3])
    }()

    private static let isInstalled: Bool = {
        _ = descriptors
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            let saved = errno
            var byte: UInt8 = 1
            _ = write(Freeze.descriptors.arrived, &byte, 1)
            while read(Freeze.descriptors.release, &byte, 1) < 0 && errno == EINTR {}
            errno = saved
        }
        return sigaction(SIGUSR2, &action, nil) == 0
    }()

    /// Freezes one thread at a time.
    private static let turn = Monitor()

    static func hold<Result>(_ thread: pthread_t, during body: () -> Result) -> Result {
        turn.change {
            precondition(isInstalled)
            var byte: UInt8 = 1
            precondition(pthread_kill(thread, SIGUSR2) == 0, "the thread has gone")
            while read(descriptors.arrival, &byte, 1) < 0 && errno == EINTR {}
            defer { _ = write(descriptors.releaser, &byte, 1) }
            return body()
        }
    }
}

extension LoopThread {
    /// Waits until the loop sleeps, and holds its thread there while `body` runs. The thread then finds its wait
    /// interrupted by a signal.
    @discardableResult public func whileAsleep<Result>(_ body: () -> Result) -> Result {
        waitUntilAsleep()
        return Freeze.hold(handle, during: body)
    }
}
