// SPDX-License-Identifier: Apache-2.0
// Threads that run their loop: starting, stopping and joining them, without leaks.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Worker threads") struct WorkerThreadTests {
    @Test("the loop runs when the thread has started; its context is the thread's default context")
    func starts() async throws {
        let order = Recorder()
        let worker = try GRunLoop.Thread(name: "a name that is longer than 15 bytes") { here in
            order("set up, running: \(here.loop.currentMode != nil)")
            here.loop.perform { order("first pass") }
        }
        #expect(worker.name == "a name that is longer than 15 bytes")
        #expect(worker.loop.currentMode == .default)
        let (isDefault, name) = await worker.loop.run { [loop = worker.loop] () -> (Bool, String) in
            (g_main_context_get_thread_default() == loop.homeContext?.pointer, currentThreadName())
        }
        #expect(isDefault)
        #expect(name == "a name that is ")
        #expect(order.lines == ["set up, running: false", "first pass"])
        worker.stop()
        await worker.waitUntilEnded()
    }

    @Test("stop ends every nested run and the thread; afterwards the loop does nothing")
    func stopNested() async throws {
        let worker = try GRunLoop.Thread(name: "nested")
        let loop = worker.loop
        let isNested = Flag()
        let results = Recorder()
        loop.async {
            loop.async { isNested.set() }
            results("\(GRunLoop.current.run(for: .seconds(3600)))")
        }
        #expect(isNested.wait())
        worker.stop()
        worker.stop()
        await worker.waitUntilEnded()
        await worker.waitUntilEnded()
        #expect(results.lines == ["stopped"])
        loop.async { Issue.record("a block ran after the end") }
        worker.stop()
    }

    @Test("stopping the outermost run also ends the thread; releasing the thread's object does not")
    func stopRun() async throws {
        var worker: GRunLoop.Thread? = try GRunLoop.Thread(name: "left alone")
        let loop = try #require(worker?.loop)
        worker = nil
        #expect(await loop.run { 6 * 7 } == 42)
        loop.stop()
        #expect(waitUntil { loop.currentMode == nil })
    }

    @Test("several callers may wait for the end, blocked or suspended; after the end they return immediately")
    func joiners() async throws {
        let worker = try GRunLoop.Thread(name: "joined")
        let joined = Counter()
        let threads = (0..<3).map { _ in
            startThread {
                worker.join()
                joined.increment()
            }
        }
        let tasks = (0..<3).map { _ in
            Task {
                await worker.waitUntilEnded()
                joined.increment()
            }
        }
        worker.stop()
        for thread in threads { join(thread) }
        for task in tasks { await task.value }
        #expect(joined.value == 6)
    }

    @Test("a thread that waits for its own end stops the process, with a message", arguments: ["", "-in-virtual-time"])
    func joinsItself(where place: String) {
        let child = runChild("join-itself" + place)
        #expect(child.signal != nil)
        #expect(child.errors.contains("a thread cannot wait for its own end"), "\(child.errors)")
    }

    @Test("starting a thread throws an error if the system cannot start it", arguments: [1 << 50, .max])
    func cannotStart(stackSize: Int) {
        do {
            _ = try GRunLoop.Thread(stackSize: stackSize)
            Issue.record("it was started")
        } catch {
            #expect(error == .limitReached(errno: EAGAIN) || error == .failed(call: "pthread_create(3)", errno: EINVAL))
            #expect("\(error)".contains("no thread can be started"))
        }
    }

    @Test("small and negative stack sizes become our minimum and the system's default", arguments: [-1, 0, 1, 600_001])
    func stackSizes(size: Int) async throws {
        let worker = try GRunLoop.Thread(stackSize: size)
        worker.stop()
        await worker.waitUntilEnded()
    }

    @Test("after ten thousand threads in a row, memory, descriptors and threads are as before")
    func tenThousand() {
        let child = runChild("ten-thousand-threads", timeout: Patience.normal * 12)
        #expect(child.status == 0, "\(child.errors)")
        #expect(child.output.count == 1, "\(child.output)")
        #expect(child.output.first?.hasPrefix("ok") ?? false, "\(child.output)")
    }
}

private func currentThreadName() -> String {
    guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = fread(&buffer, 1, buffer.count, file)
    return String(decoding: buffer.prefix(max(0, count - 1)), as: UTF8.self)
}
