// SPDX-License-Identifier: Apache-2.0
// The soak: producers, loops, and an exact account of the events between them.

import GRunLoop
import Glibc
import TestSupport

private func refuse(_ problem: String) -> Never {
    printToStandardError("grun-soak: \(problem)\nusage: grun-soak [--seconds N] [--seed N] [--driver own|host]\n")
    exit(2)
}

var arguments = Array(CommandLine.arguments.dropFirst())
Settings.seed = UInt64(nanoseconds() & 0xFFFF)
while let option = arguments.first {
    arguments.removeFirst()
    guard let value = arguments.first else { refuse("\(option) has no value") }
    arguments.removeFirst()
    switch (option, UInt64(value)) {
    case ("--seconds", let number?) where (1...86_400).contains(number): Settings.seconds = Int(number)
    case ("--seed", let number?): Settings.seed = number
    case ("--driver", _) where value == "own" || value == "host": Settings.isHosted = value == "host"
    default: refuse("\(option) \(value) is not understood")
    }
}
// Changes the environment, so this comes before other threads exist.
_ = RuntimeDirectory.path
// The watchdog ends the soak in every case.
let watchdog = Watchdog(.seconds(Settings.seconds + 120), "\(Settings.title): it has not come to an end")
printToStandardError("\(Settings.title), \(Settings.seconds) s\n")
let mainLoop = MainLoop()
LogWatch.install(mainLoop.consumer)
LockProbe.start()
Stalls.start()
let soak = Soak(mainLoop)
let director = startThread { soak.run() }
mainLoop.run()
join(director)
watchdog.disarm()
print(soak.figures)
exit(Findings.isEmpty ? 0 : 1)
