// SPDX-License-Identifier: Apache-2.0
// Scenarios that need the real main thread of a process, or its end.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport

func mainLoopFirstTouchedElsewhere() {
    let found = Shared<GRunLoop?>(nil)
    onPlainThread {
        found.value = GRunLoop.main
        say(
            GRunLoop.current === GRunLoop.main
                ? "the thread got its own loop" : "the thread got a loop that is not its own")
    }
    say(found.value === GRunLoop.current ? "it is the main thread's" : "it is nobody's")
    say("done")
}

func mainThreadEnds() {
    let ended = Flag()
    let main = GRunLoop.main
    let mainThread = threadID
    main.keepAlive()
    // The last thread-specific destructors of the main thread run after its code has ended.
    pthread_detach(
        startThread {
            ended.wait()
            let isGone = waitUntil { threadState(mainThread) == "Z" }
            if !isGone { say("the main thread is still there") }
            let ran = Counter()
            main.wakeUp()
            main.stop()
            main.perform { ran.increment() }
            main.async { ran.increment() }
            main.add(GRunLoop.Source(schedule: { _, _ in ran.increment() }, perform: {}), forMode: .default)
            main.add(GRunLoop.Timer(interval: .zero, repeats: false) { _ in ran.increment() }, forMode: .default)
            main.add(GRunLoop.Observer(activities: .all) { _, _ in ran.increment() }, forMode: .common)
            if (try? main.performOnThread { ran.increment() }) != nil { say("a perform was accepted") }
            main.wakeUp()
            say("asked for everything")
            say(ran.value == 0 ? "nothing ran" : "something ran")
            exit(0)
        })
    say("main thread ends")
    ended.set()
    pthread_exit(nil)
}

/// libdispatch has already closed the main queue's descriptor when the loop calls its end handlers.
func mainThreadEndsUnderAHost() {
    let main = GRunLoop.main
    // Makes GLib poll the descriptor.
    g_main_context_iteration(nil, 0)
    do {
        try main.addEndHandler {
            for _ in 0..<3 { g_main_context_iteration(nil, 0) }
            let timer = main.after(.milliseconds(1)) { say("timer") }
            say("\(main.run(for: .seconds(1), returningAfterSourceHandled: true))")
            timer.invalidate()
            g_main_context_iteration(nil, 0)
            say("handler has returned")
        }
    } catch {
        say("\(error)")
    }
    atexit { say("exit") }
    pthread_exit(nil)
}

/// Adds an item of the main loop to the loop of another thread.
func mainItemElsewhere() {
    onPlainThread { callMainItem(in: .current) }
}

func mainItemElsewhereInVirtualTime() {
    onPlainThread { GRunLoop.withVirtualTime { callMainItem(in: $0.loop) } }
}

private func callMainItem(in loop: GRunLoop) {
    loop.add(GRunLoop.Timer(interval: .zero, repeats: false) { @MainActor _ in say("called") }, forMode: .default)
    say("before")
    loop.run(for: .zero)
    say("after")
}

func forked() {
    let loop = GRunLoop.current
    let ran = Counter()
    let source = loop.source { ran.increment() }
    loop.run(for: .zero)
    guard let symbol = dlsym(nil, "fork") else { return say("no fork") }
    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
    let child = fork()
    if child == 0 {
        source.signal()
        loop.wakeUp()
        loop.stop()
        loop.perform { ran.increment() }
        loop.async { ran.increment() }
        loop.add(GRunLoop.Source { ran.increment() }, forMode: .default)
        loop.add(GRunLoop.Timer(interval: .zero, repeats: false) { _ in ran.increment() }, forMode: .default)
        loop.add(GRunLoop.Observer(activities: .all) { _, _ in ran.increment() }, forMode: .default)
        let result = loop.run(for: .zero)
        say("child: \(result), \(ran.value == 0 ? "nothing ran" : "something ran")")
        _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    source.signal()
    let result = loop.run(for: .zero, returningAfterSourceHandled: true)
    say("parent: \(result)")
}

func endHandlerForked() {
    onPlainThread {
        let loop = GRunLoop.current
        let isChild = Shared(false)
        _ = try? loop.addEndHandler { say(isChild.value ? "child: called" : "parent: called") }
        guard let symbol = dlsym(nil, "fork") else { return say("no fork") }
        let child = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
        if child == 0 {
            isChild.value = true
            // The only thread of the child ends, and so does the process.
            atexit { say("child's thread has ended") }
            pthread_exit(nil)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }
}

func runInCommonModes() {
    let loop = GRunLoop.current
    let ran = Counter()
    loop.source(.common) { ran.increment() }.signal()
    loop.perform(inModes: [.common]) { ran.increment() }
    say("\(loop.run(mode: .common))")
    say("\(loop.run(mode: .common, for: .zero))")
    say("\(loop.run(mode: GRunLoop.Mode("kCFRunLoopCommonModes")))")
    say("\(loop.run(mode: .common, before: GRunLoop.distantFuture))")
    say(ran.value == 0 ? "nothing ran" : "something ran")
}
