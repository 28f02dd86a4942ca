// SPDX-License-Identifier: Apache-2.0
// The core's package interface, used as other products of the package use it: without @testable.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct PackageInterfaceTests {
    @Test("a loop is current on its own thread; in virtual time it is not, but the thread still belongs to it")
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

    @Test("a time is the nearest number of nanoseconds, at least one for a positive span, at most the last reading")
    func times() {
        #expect(Duration.seconds(-2).wholeNanoseconds == -2_000_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).wholeNanoseconds == 1)
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(GRunLoop.distantFuture.wholeNanoseconds == .max)
        #expect(GRunLoop.Instant(wholeNanoseconds: 12_345).wholeNanoseconds == 12_345)
    }
}
