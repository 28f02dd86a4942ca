// SPDX-License-Identifier: Apache-2.0
// What the core offers to the other products of the package, used as they use it: without @testable.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct PackageInterfaceTests {
    @Test("a loop is current on its own thread, and in virtual time it is not, but the thread is still its own")
    func whoCalls() async throws {
        try await onFreshThread { loop in
            #expect(loop.isCurrent && loop.isOfThisThread && loop.isCalledOnOwnThread(by: "test"))
            #expect(!GRunLoop.main.isCurrent && !GRunLoop.main.isOfThisThread)
            GRunLoop.withVirtualTime { time in
                #expect(time.loop.isCurrent && time.loop.isOfThisThread)
                #expect(!loop.isCurrent && loop.isOfThisThread)
            }
        }
    }

    @Test("a time in nanoseconds is the nearest one, at least one of a positive span, and the last that there is")
    func times() {
        #expect(Duration.seconds(-2).wholeNanoseconds == -2_000_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).wholeNanoseconds == 1)
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(GRunLoop.distantFuture.wholeNanoseconds == .max)
        #expect(GRunLoop.Instant(wholeNanoseconds: 12_345).wholeNanoseconds == 12_345)
    }
}
