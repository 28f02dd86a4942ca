// SPDX-License-Identifier: Apache-2.0
// A script, as scripts/clients compiles it in both language modes: variables at top level.

import GRunLoop

struct Weather {
    var degrees = 0
}

var count = 0
var weather = Weather()

GRunLoop.Timer.scheduled(interval: .milliseconds(1), repeats: true) { @MainActor timer in
    count += 1
    weather.degrees += 2
    if count == 3 { timer.invalidate() }
}
while count < 3 { GRunLoop.main.run(for: .milliseconds(10)) }
count += 1
precondition(count == 4 && weather.degrees == 6)
