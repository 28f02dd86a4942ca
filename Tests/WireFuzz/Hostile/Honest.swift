// SPDX-License-Identifier: Apache-2.0
// An honest client: it makes a request, waits for the reply, and makes the next one a little later.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

/// The limit of an honest request, far beyond the time that it may take.
let honestLimit = Duration.seconds(1)

extension Duration {
    var microseconds: Int { Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000) }
}

/// Returns how long each request took. A request without its right reply counts as endless. Stops at the third of
/// those.
///
/// - Parameter late: gets how much longer than requested the loop ran between two requests.
func measure(
    _ remote: GRunLoop.RemoteMessagePort, for seconds: Double, late: (Duration) -> Void = { _ in }
) -> [Duration] {
    let loop = GRunLoop.current
    let small = GRunLoop.MessageData([UInt8](repeating: 3, count: 100))
    let large = GRunLoop.MessageData([UInt8](repeating: 7, count: 100_000))
    var took: [Duration] = []
    var failures = 0
    let end = GRunLoop.now + .seconds(seconds)
    while GRunLoop.now < end, failures < 3 {
        // The larger data and their reply are sent as memory.
        let data = took.count % 4 == 3 ? large : small
        let start = GRunLoop.now
        let reply = try? remote.request(
            Request.echo.rawValue, data, sendTimeout: honestLimit, receiveTimeout: honestLimit)
        if reply?.data.elementsEqual(data) == true {
            took.append(GRunLoop.now - start)
        } else {
            took.append(max(honestLimit, GRunLoop.now - start))
            failures += 1
        }
        let pause = GRunLoop.now
        loop.run(for: .milliseconds(2))
        late(GRunLoop.now - pause - .milliseconds(2))
    }
    return took
}
