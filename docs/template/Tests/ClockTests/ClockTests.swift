import Clock
import GRunLoop
import GRunLoopTesting
import Testing

@MainActor @Suite(.mainLoop) struct ClockTests {
    @Test func countsSeconds() async throws {
        try await withVirtualTime { time in
            let clock = Clock()
            var shown: [Int] = []
            clock.start { shown.append($0) }
            await time.advance(by: .seconds(3))
            #expect(shown == [1, 2, 3])
            clock.stop()
            await time.advance(by: .seconds(3))
            #expect(clock.seconds == 3)
        }
    }
}
