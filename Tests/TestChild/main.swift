// SPDX-License-Identifier: Apache-2.0
// Scenarios that need a separate process. The tests pass a scenario's name, and compare the output.

import Glibc
import TestSupport

let scenarios: [String: () throws -> Void] = [
    "main-loop-first-touched-elsewhere": mainLoopFirstTouchedElsewhere,
    "main-thread-ends": mainThreadEnds,
    "main-thread-ends-under-a-host": mainThreadEndsUnderAHost,
    "main-item-elsewhere-in-real-time": mainItemElsewhere,
    "main-item-elsewhere-in-virtual-time": mainItemElsewhereInVirtualTime,
    "forked": forked,
    "forked-while-locked": forkedWhileLocked,
    "forked-calls": forkedCalls,
    "closed-in-a-callout": closedInACallout,
    "closed-without-descriptors": closedWithoutDescriptors,
    "closed-main-queue": closedMainQueue,
    "closed-under-a-host": closedUnderAHost,
    "modes-under-a-host-at-the-limit": modesUnderAHostAtTheLimit,
    "closed-timer-under-a-host": closedTimerUnderAHost,
    "closed-idle-timer-under-a-host": closedIdleTimerUnderAHost,
    "poll-refused": pollRefused,
    "forked-thread-ends": forkedThreadEnds,
    "forked-while-loop-ends": forkedWhileLoopEnds,
    "stalls-are-logged": stallsAreLogged,
    "stalls-without-a-span": stallsWithoutASpan,
    "timeline-of-the-environment": timelineOfTheEnvironment,
    "timeline-on-a-full-disk": timelineOnAFullDisk,
    "timeline-without-umask": timelineWithoutUmask,
    "end-handler-forked": endHandlerForked,
    "run-in-common-modes": runInCommonModes,
    "drain-on-another-thread": drainOnAnotherThread,
    "after-dispatch-main": afterDispatchMain,
    "touch-after-dispatch-main": touchAfterDispatchMain,
    "run-inside-main-queue-block": runInsideMainQueueBlock,
    "sleep-inside-main-queue-block": sleepInsideMainQueueBlock,
    "host-inside-main-queue-block": hostInsideMainQueueBlock,
    "descriptor-limit": descriptorLimit,
    "descriptor-limit-under-a-host": descriptorLimitUnderAHost,
    "descriptors-sandboxed-EPERM": { try descriptorsSandboxed(EPERM) },
    "descriptors-sandboxed-ENOSYS": { try descriptorsSandboxed(ENOSYS) },
    "check-isolated-elsewhere": checkIsolatedElsewhere,
    "two-tasks-one-iterator": twoTasksOneIterator,
    "join-itself": joinItself,
    "join-itself-in-virtual-time": joinItselfInVirtualTime,
    "await-itself": awaitItself,
    "elements-of-an-actor": elementsOfAnActor,
    "elements-of-a-task": elementsOfATask,
    "million-jobs": millionJobs,
    "signals-beside-memberships": signalsBesideMemberships,
    "ten-thousand-threads": tenThousandThreads,
]

let ofOtherFiles = [
    confinedScenarios, endingScenarios, processEndScenarios, signalScenarios, signalRaceScenarios, childScenarios,
    messagePortScenarios, messagePortLimitScenarios, messagePortNameScenarios, messagePortKillScenarios,
    perturbScenarios, sandboxScenarios, portPathScenarios,
]

// Other tests may leak descriptors into this process, which would count in a scenario with a low limit.
closefrom(STDERR_FILENO + 1)

if CommandLine.arguments.count == 2,
    let scenario = scenarios[CommandLine.arguments[1]]
        ?? ofOtherFiles.lazy.compactMap({ $0[CommandLine.arguments[1]] }).first
{
    try scenario()
} else {
    printToStandardError(
        "usage: grun-test-child SCENARIO, one of \((scenarios.keys + ofOtherFiles.flatMap(\.keys)).sorted())\n")
    exit(2)
}
