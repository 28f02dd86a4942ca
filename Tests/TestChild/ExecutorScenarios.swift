// SPDX-License-Identifier: Apache-2.0
// Cases in which Swift's runtime cannot handle a refusal, and other ends of the process.

import GRunLoop
import Glibc
import TestSupport

func checkIsolatedElsewhere() {
    let executor = GRunLoop.Executor(.current, label: "Checked")
    executor.checkIsolated()
    say("on its thread: passed")
    onPlainThread { executor.checkIsolated() }
    say("elsewhere: passed")
}

func twoTasksOneIterator() {
    // An iterator cannot be sent, so the program circumvents the check.
    nonisolated(unsafe) let iterator = GRunLoop.main.ticks(every: .seconds(3600)).makeAsyncIterator()
    for _ in 0..<2 {
        Task {
            var copy = iterator
            _ = await copy.next()
        }
    }
    sleep(5)
}

func joinItself() throws {
    let worker = try GRunLoop.Thread()
    worker.loop.async { worker.join() }
    sleep(5)
}

func joinItselfInVirtualTime() throws {
    let worker = try GRunLoop.Thread()
    worker.loop.async { GRunLoop.withVirtualTime { _ in worker.join() } }
    sleep(5)
}

func awaitItself() throws {
    let worker = try GRunLoop.Thread(name: "awaits itself")
    let isBack = Flag()
    Task(executorPreference: worker.loop.executor) {
        await worker.stopAndWait()
        say("back, isolated: \(worker.loop.executor.isIsolatingCurrentContext() ?? false)")
        isBack.set()
    }
    say("ended: \(isBack.wait())")
}

/// Makes one thread after the other. Compares descriptors, threads and memory after the first thousand and at the end.
func tenThousandThreads() throws {
    func start(_ count: Int) throws {
        for number in 0..<count {
            let worker = try GRunLoop.Thread(name: "worker \(number)")
            if number % 16 == 0 {
                let served = Flag()
                let timer = GRunLoop.Timer(interval: .microseconds(10), repeats: false) { _ in served.set() }
                worker.loop.add(timer, forMode: .default)
                precondition(served.wait())
            }
            worker.stop()
            worker.join()
        }
    }
    let threadsAtFirst = processHoldings().threads
    /// The kernel lists a joined thread until it has removed it.
    func settledHoldings() -> (descriptors: Int, threads: Int, kilobytes: Int) {
        var found = processHoldings()
        for _ in 0..<100 where found.threads > threadsAtFirst {
            usleep(10_000)
            found = processHoldings()
        }
        return found
    }
    try start(2000)
    let before = settledHoldings()
    try start(10_000)
    let after = settledHoldings()
    let isSame = after.descriptors == before.descriptors && after.threads == before.threads
    // The allocator's arenas vary. A loop takes several kilobytes, and less than a tenth of 10,000 may remain.
    let growth = after.kilobytes - before.kilobytes
    let isSmall = growth < 2048 || getenv("GRUN_SANITIZER") != nil
    say("\(isSame && isSmall ? "ok" : "leak"): \(before) -> \(after), \(growth) kB more")
}

private func processHoldings() -> (descriptors: Int, threads: Int, kilobytes: Int) {
    func count(_ path: String) -> Int {
        guard let directory = opendir(path) else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
    var pages = 0
    if let file = fopen("/proc/self/statm", "r") {
        var buffer = [UInt8](repeating: 0, count: 128)
        let length = fread(&buffer, 1, buffer.count, file)
        pages = Int(String(decoding: buffer.prefix(length), as: UTF8.self).split(separator: " ")[1]) ?? 0
        fclose(file)
    }
    return (count("/proc/self/fd"), count("/proc/self/task"), pages * sysconf(Int32(_SC_PAGESIZE)) / 1024)
}
