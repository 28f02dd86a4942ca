// SPDX-License-Identifier: Apache-2.0
// Code that keeps the main thread and code that loses it. Each test runs in its own process.

import CGRun
import Glibc
import TestSupport
import Testing

@Suite("The main thread: an async main keeps it") struct AsyncMainTests {
    @Test("the main run loop drives while main is suspended, and the process ends when main returns")
    func kept() {
        let child = runChild("kept", of: "grun-async-main-child")
        let places = ["before", "after a sleep", "in a GLib timeout", "after a block", "after a stop"]
        #expect(child.output == places.map { "\($0), main thread: true" } + ["exit, on the main thread: true"])
        #expect(child.status == 0)
        #expect(child.errors == "")
    }

    @Test("a GLib loop may drive instead; when it ends, the main run loop drives")
    func drivenByGLib() {
        let child = runChild("driven-by-glib", of: "grun-async-main-child")
        #expect(child.output == ["under GLib: true, main thread: true", "afterwards: false, main thread: true"])
        #expect(child.status == 0)
    }

    @Test(
        "a hook that another library has set meanwhile is called too, and the thread is driven whatever the hook does",
        arguments: ["beside-another-hook", "beside-a-hook-that-calls-nothing"])
    func besideAnotherHook(_ scenario: String) {
        let child = runChild(scenario, of: "grun-async-main-child")
        #expect(child.output == ["the other hook", "after a sleep, main thread: true"])
        #expect(child.status == 0)
    }

    @Test("a host that runs before main suspends works as in any program")
    func hostBefore() {
        let child = runChild("host-before", of: "grun-async-main-child")
        #expect(child.output == ["task under the host, main thread: true", "after the host, main thread: true"])
        #expect(child.status == 0)
        #expect(child.errors == "")
    }

    @Test("a host that runs inside main afterwards keeps the main queue waiting: the log names driveAsyncMain(by:)")
    func hostInside() {
        let child = runChild("host-inside", of: "grun-async-main-child")
        #expect(child.output == ["in the block: false"], "\(child)")
        #expect(
            child.errorCount(of: "pass g_application_run() to GRunLoop.driveAsyncMain(by:). Start other nested loops")
                == 1,
            "\(child.errors)")
        #expect(child.status == 0)
    }

    @Test("after the first suspension driveAsyncMain fails, and logs the reason")
    func tooLate() {
        let child = runChild("too-late", of: "grun-async-main-child")
        #expect(child.output == ["main thread: false"])
        #expect(
            child.errorCount(of: "GRunLoop.driveAsyncMain: too late: main() has already suspended") == 1,
            "\(child.errors)")
        #expect(child.status == 0)
    }

    @Test("before the suspension the last call of driveAsyncMain counts; if the thread is driven, a call logs that")
    func twice() {
        let child = runChild("twice", of: "grun-async-main-child")
        #expect(child.output == ["after a sleep, main thread: true"])
        #expect(child.errorCount(of: "too late: the run loop already drives the main thread") == 1, "\(child.errors)")
    }
}

@Suite("The main dispatch queue's private words") struct MainQueueWordsTests {
    @Test("the private words are recognized by the two words behind them, and by no other words")
    func words() {
        let label = strdup("a label")
        defer { free(label) }
        var words = [UInt](repeating: 0, count: 10)
        func areKnown(_ number: UInt, _ found: UnsafeMutablePointer<CChar>?) -> Bool {
            (words[8], words[9]) = (number, UInt(bitPattern: found))
            return words.withUnsafeBytes {
                cgrun_has_known_words($0.baseAddress?.assumingMemoryBound(to: CChar.self), label)
            }
        }
        #expect(areKnown(1, label) && !areKnown(2, label) && !areKnown(1, nil))
        // The words of the installed libdispatch.
        #expect(cgrun_main_queue_owner_at_load() == UInt32(getpid()))
    }
}

/// The fourth way needs a program that is not linked with libdispatch, and first loads it on another thread.
/// scripts/hosted has such a program.
@Suite("The main thread: ways to lose its queue") struct MainQueueLossTests {
    @Test("an async main that starts before the loop")
    func asyncMain() {
        let child = runChild("not-kept", of: "grun-async-main-child")
        #expect(child.output == ["main thread: false"])
        #expect(
            child.errorCount(of: "the main run loop cannot serve the main dispatch queue") == 1, "\(child.errors)")
        #expect(child.errors.contains("async main has suspended"), "\(child.errors)")
        #expect(child.errors.contains("call GRunLoop.driveAsyncMain() before the first await"), "\(child.errors)")
    }

    @Test("dispatchMain()")
    func dispatchMain() {
        let child = runChild("touch-after-dispatch-main")
        #expect(child.output == ["touched"])
        #expect(
            child.errorCount(of: "dispatchMain() has given it to libdispatch permanently")
                == 1)
        #expect(child.status == 0)
    }

    @Test("at the main thread's end, end handlers may iterate the home context and run the loop, without the queue")
    func endOfTheThread() {
        let child = runChild("main-thread-ends-under-a-host")
        #expect(child.output == ["timer", "finished", "handler has returned", "exit"], "\(child.errors)")
        #expect(child.errorCount(of: "has closed a descriptor of the run loop") == 0, "\(child.errors)")
    }

    @Test(
        "running the loop inside a main-queue block: logged once, and only when another block waits on it",
        arguments: ["run", "sleep", "host"])
    func insideBlock(driver: String) {
        let child = runChild("\(driver)-inside-main-queue-block")
        #expect(child.output.first == "in the block: 0")
        #expect(child.output.last == (driver == "run" ? "afterwards: 2" : "afterwards: 1"), "\(child.output)")
        #expect(child.errorCount(of: "the main run loop runs inside a block of that queue") == 1, "\(child.errors)")
        #expect(child.errorCount(of: "driveAsyncMain") == 0, "\(child.errors)")
    }
}
