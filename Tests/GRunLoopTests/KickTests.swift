// SPDX-License-Identifier: Apache-2.0
// Another thread ends a sleep: one thread decides to, and sends one kick.

import CGRunGLib
import Testing

@testable import GRunLoop

/// The state of a loop that sleeps in a context.
private func sleeping(in context: OpaquePointer) -> Sleep {
    var sleep = Sleep()
    let mode = ModeState(name: .default, isCommon: true)
    sleep.begin(in: mode, wokenBy: .context(context), until: .never)
    return sleep
}

@Suite struct KickTests {
    @Test("one kick ends a sleep: the thread that decided sends it, and it wakes the context and keeps it alive")
    func once() async throws {
        let context = try #require(g_main_context_new())
        var sleep = sleeping(in: context)
        let loop = GRunLoop.main
        let kick = sleep.kick(loop)
        let hasAnother = sleep.kick(loop) != nil
        #expect(!hasAnother)
        #expect(sleep.takeKicked() && !sleep.takeKicked())
        kick?.send()
        // Without the kick the iteration would sleep forever.
        g_main_context_iteration(context, 1)
        g_main_context_unref(context)
    }

    @Test("a dropped kick would leave a loop asleep, so the process ends with a message")
    func dropped() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var sleep = sleeping(in: g_main_context_new())
            _ = sleep.kick(GRunLoop.main)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("a wake-up of a run loop was lost"), "\(text)")
    }
}
