// SPDX-License-Identifier: Apache-2.0
// usage: grun-bench CASE N     prints a line, as the peers do: peer=... case=... n=... ns_per_op=... extra=...

import BenchSupport
import CGRunGLib

@main enum Program {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let n = Int(arguments[2]), n >= 0 else {
            print("usage: grun-bench CASE N")
            exit(2)
        }
        bench_pin(0)
        bench_raise_descriptor_limit()
        bench = Bench(n)
        benchLoop = .passUnretained(bench.loop)
        left = n
        switch caseName {
        case "post-local": bench.postLocal()
        case "post-burst": bench.postBurst()
        case "post-remote": bench.postRemote()
        case "signal-1": bench.signalAgain(sources: 1)
        case "signal-10": bench.signalAgain(sources: 10)
        case "pingpong": bench.pingPong()
        case "wake-latency": bench.wakeLatency()
        case "main-queue": bench.mainQueue()
        case "idle-work": bench.idleWork()
        case "timers-create", "mem-timers": bench.timersCreate()
        case "timers-fire": bench.timersFire()
        case "timers-fire-tolerance": bench.timersFire(tolerance: .milliseconds(1))
        case "timers-due": bench.timersDue()
        case "performs-create", "mem-performs": bench.performsCreate()
        case "performs-due": bench.performsDue()
        case "timers-idle-tax": bench.timersIdleTax()
        case "idle-wakeups": bench.idleWakeUps()
        case "run-nowait": bench.runNoWait()
        case "run-nowait-empty": bench.lookAgain()
        case "run-nowait-observed": bench.runNoWaitObserved()
        case "fds-idle-tax": bench.descriptorsIdleTax()
        case "fds-active": bench.descriptorsActive(tokens: 100)
        case "fds-active-1": bench.descriptorsActive(tokens: 1)
        case "fds-pingpong": bench.descriptorsPingPong()
        case "mem-fds": bench.descriptorsMemory()
        case "loops": bench.ringOfLoops()
        case "loops-cross": bench.crossingLoops()
        case "port-local": bench.portLocal()
        case "port-burst": bench.portBurst()
        case "notification-asap": bench.notificationAgain(.asap)
        case "notification-idle": bench.notificationAgain(.whenIdle)
        case "notification-now": bench.notificationNow()
        case "notifications-alike-tax": bench.notificationsAlikeTax()
        case "message-port": bench.messagePort(size: 64)
        case "message-port-large": bench.messagePort(size: 1 << 20)
        case "message-port-self": bench.messagePortOfThisThread()
        case "messages-idle-tax": bench.messagesIdleTax()
        case "message-service": bench.messageService()
        case "objects-alone": bench.objectsAlone()
        case let name where name.hasPrefix("channel"): bench.channel(name.split(separator: "-"))
        default:
            print("peer=grun case=\(caseName) n=\(n) ns_per_op=NA extra=unsupported")
            exit(3)
        }
    }
}
