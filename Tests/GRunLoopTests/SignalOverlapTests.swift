// SPDX-License-Identifier: Apache-2.0
// A signal source ends while handlers overlap. It waits for handlers that began before, and not for later ones.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Signals whose handlers overlap") struct SignalOverlapTests {
    @Test("closing a source waits for all earlier handlers, even if later handlers overlap endlessly")
    func overlappingHandlers() throws {
        let (one, other) = (try HeldHandler(of: queuedSignal(21)), try HeldHandler(of: queuedSignal(22)))
        let source = try GRunLoop.SignalSource(queuedSignal(23)) { _, _ in }
        let closerID = Shared<pid_t>(0)
        let isClosed = Flag()
        one.enter()
        let closer = startThread {
            closerID.value = threadID
            source.invalidate()
            isClosed.set()
        }
        #expect(waitUntil { threadState(closerID.value) == "S" })
        #expect(!isClosed.isSet, "a handler has begun before, and has not ended")
        // From now on at least one handler is in its write at any time.
        var links = 0
        while !isClosed.isSet, links < 200 {
            other.enter()
            one.leave()
            one.enter()
            other.leave()
            links += 1
        }
        #expect(isClosed.isSet, "it waits for handlers that have begun later")
        one.leave()
        pthread_join(closer, nil)
    }
}

/// A source with a full counter. Its handler stays in its write until a reader empties the counter.
private final class HeldHandler {
    private let source: GRunLoop.SignalSource
    private var thread: pthread_t?

    init(of signal: Int32) throws {
        source = try GRunLoop.SignalSource(signal) { _, _ in }
        _ = fcntl(source.eventDescriptor, F_SETFL, 0)
    }

    func enter() {
        var count = UInt64.max - 1
        #expect(write(source.eventDescriptor, &count, 8) == 8)
        let id = Shared<pid_t>(0)
        thread = startThread { [signal = source.signal] in
            id.value = threadID
            raiseHere(signal)
        }
        let number = "0x" + String(source.eventDescriptor, radix: 16)
        #expect(waitUntil { systemCall(of: id.value).dropFirst().first == number }, "the handler is not in its write")
    }

    func leave() {
        var count: UInt64 = 0
        // Reads the full counter, and then the 1 of the handler.
        #expect(read(source.eventDescriptor, &count, 8) == 8)
        if let thread { pthread_join(thread, nil) }
        #expect(read(source.eventDescriptor, &count, 8) == 8 && count == 1)
    }
}
