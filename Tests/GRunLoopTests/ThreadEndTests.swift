// SPDX-License-Identifier: Apache-2.0
// The state of a loop whose thread has ended: part 1.1, items 7 to 15.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

@Suite struct ThreadEndTests {
    @Test(
        "a thread with a pending cancellation does not end inside a call of its loop, where the lock would stay locked")
    func cancelledThread() async throws {
        try await onFreshThread { _ in
            let found = Shared<GRunLoop?>(nil)
            onPlainThread {
                // The thread ends at the next cancellation point.
                pthread_cancel(pthread_self())
                let loop = GRunLoop.current
                loop.add(GRunLoop.Source {}, forMode: .default)
                pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil)
                found.value = loop
            }
            let loop = try #require(found.value)
            #expect(loop.allModes == [.default])
        }
    }

    @Test(
        "item 7: when a thread ends, each version-0 source is cancelled once a mode, on that thread, after the body")
    func sourcesAreCancelled() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                let here = threadID
                func source(_ name: String) -> GRunLoop.Source {
                    GRunLoop.Source(
                        cancel: { cancelled, mode in
                            let isHere = threadID == here && cancelled === loop && GRunLoop.current === loop
                            trace("\(name) left \(mode) \(isHere ? "here" : "elsewhere")")
                        }, perform: {})
                }
                do { try loop.addCommonMode("second") } catch { trace("\(error)") }
                loop.add(source("common"), forMode: .common)
                let several = source("several")
                loop.add(several, forMode: .default)
                loop.add(several, forMode: "private")
                loop.add(source("other"), forMode: "private")
                trace("body ends")
            }
            thread.join()
            #expect(trace.lines.first == "body ends")
            #expect(
                trace.lines.dropFirst().sorted() == [
                    "common left kCFRunLoopDefaultMode here", "common left second here", "other left private here",
                    "several left kCFRunLoopDefaultMode here", "several left private here",
                ])
        }
    }

    @Test("item 8: items of an ended thread's loop stay valid, and work in another loop")
    func itemsStayValid() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            let source = GRunLoop.Source { trace("source") }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                trace("descriptor")
                pipe.drain()
            }
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in trace("timer") }
            let repeating = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .seconds(3600)) { _ in trace("repeating") }
            let observer = GRunLoop.Observer(activities: .entry) { _, _ in trace("observer") }
            LoopThread { ended in
                for mode: GRunLoop.Mode in [.default, "private", .common] {
                    ended.add(source, forMode: mode)
                    try? ended.add(descriptor, forMode: mode)
                    ended.add(timer, forMode: mode)
                    ended.add(repeating, forMode: mode)
                    ended.add(observer, forMode: mode)
                }
            }.join()
            #expect(source.isValid && descriptor.isValid && timer.isValid && repeating.isValid && observer.isValid)
            let messages = try capturingLog {
                loop.add(source, forMode: .default)
                try loop.add(descriptor, forMode: .default)
                loop.add(timer, forMode: .default)
                loop.add(repeating, forMode: .default)
                loop.add(observer, forMode: .default)
            }.messages
            #expect(messages == [])
            source.signal()
            pipe.send()
            loop.run(for: .zero)
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(Set(trace.lines) == ["observer", "source", "descriptor", "timer", "repeating"])
        }
    }

    @Test("item 9: blocks that wait when the thread ends are released and never run")
    func blocksAreReleased() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                func enqueue(_ name: String, _ modes: [GRunLoop.Mode]) {
                    let witness = Witness { trace("\(name) released") }
                    loop.perform(inModes: modes) {
                        trace("\(name) ran")
                        withExtendedLifetime(witness) {}
                    }
                }
                enqueue("default", [.default])
                enqueue("common", [.common])
                enqueue("private", ["private"])
                enqueue("several", [.default, "private", .common])
                trace("body ends")
            }
            thread.join()
            #expect(trace.lines.first == "body ends")
            #expect(
                trace.lines.dropFirst().sorted() == [
                    "common released", "default released", "private released", "several released",
                ])
        }
    }

    @Test("item 10: calls on the loop of an ended thread do no harm, and nothing runs")
    func inertLoop() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in loop.keepAlive() }
            thread.join()
            let loop = thread.loop
            let messages = capturingLog {
                loop.wakeUp()
                loop.stop()
                loop.perform { trace("block") }
                loop.perform(inModes: [.common, "private"]) { trace("block") }
                loop.async { trace("block") }
                #expect(loop.run(for: .zero) == .finished)
                #expect(!loop.isWaiting)
                #expect(loop.currentMode == nil)
                #expect(loop.description.contains("(none)"))
            }.messages
            #expect(trace.lines == [])
            #expect(messages == [])
        }
    }

    @Test("item 11 (our rule): the last reference to a loop may be released anywhere, after its thread's end")
    func lastReferenceGoesAnywhere() async throws {
        try await onFreshThread { _ in
            let held = Shared<GRunLoop?>(nil)
            let observed = Weak<GRunLoop>()
            LoopThread { loop in
                held.value = loop
                observed.object = loop
                loop.keepAlive()
                loop.run(for: .zero)
            }.join()
            #expect(observed.object != nil)
            onPlainThread { held.value = nil }
            #expect(waitUntil { observed.object == nil })
        }
    }

    @Test("an ambient mode that was not popped does not keep its loop")
    func forgottenAmbientMode() async throws {
        try await onFreshThread { _ in
            let observed = Weak<GRunLoop>()
            LoopThread { loop in
                observed.object = loop
                _ = try? loop.push(ambientMode: .tracking)
            }.join()
            #expect(waitUntil { observed.object == nil })
        }
    }

    @Test("item 12: other thread-specific destructors of the ending thread can still use its loop")
    func loopSurvivesOtherDestructors() async throws {
        try await onFreshThread { _ in
            TeardownProbe.trace.value = []
            let key = TeardownProbe.makeKey()
            LoopThread { loop in
                let source = GRunLoop.Source(cancel: { _, _ in TeardownProbe.note("cancelled") }, perform: {})
                loop.add(source, forMode: .default)
                TeardownProbe.note("body ends")
                pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1))
            }.join()
            pthread_key_delete(key)
            #expect(
                TeardownProbe.trace.value == [
                    "body ends", "round 1: the same loop, block ran, timedOut",
                    "round 2: the same loop, block ran, timedOut",
                    "cancelled",
                ])
        }
    }

    @Test("item 12: a loop that a destructor makes after the thread's loop has ended ends in the last round")
    func madeInTheLastRound() async throws {
        try await onFreshThread { _ in
            let key = LateLoop.makeKey()
            LoopThread { _ in pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1)) }.join()
            pthread_key_delete(key)
            #expect(LateLoop.isMade.isSet)
            #expect(waitUntil { LateLoop.made.object == nil })
        }
    }

    @Test("item 13: a loop that is being torn down ignores additions, and a run of it is finished")
    func tearingDown() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            LoopThread { loop in
                let pipe = Pipe()
                let source = GRunLoop.Source(
                    cancel: { loop, _ in
                        let messages = capturingLog {
                            let late = GRunLoop.Source(
                                schedule: { _, _ in trace("scheduled") }, perform: { trace("ran") })
                            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in trace("ran") }
                            let observer = GRunLoop.Observer(activities: .all) { _, _ in trace("ran") }
                            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in trace("ran")
                            }
                            loop.add(late, forMode: .default)
                            loop.add(late, forMode: .common)
                            loop.add(timer, forMode: .default)
                            loop.add(observer, forMode: .common)
                            do {
                                try loop.add(descriptor, forMode: .default)
                                try loop.addCommonMode("second")
                            } catch { trace("\(error)") }
                            late.signal()
                            let isIn =
                                loop.contains(late, forMode: .default) || loop.contains(timer, forMode: .default)
                                || loop.contains(observer, forMode: .common)
                                || loop.contains(descriptor, forMode: .default)
                            trace("contains: \(isIn)")
                            trace("\(loop.run())")
                            trace("\(loop.run(for: .zero))")
                        }.messages
                        trace("messages: \(messages)")
                    }, perform: {})
                loop.add(source, forMode: .default)
            }.join()
            #expect(trace.lines == ["contains: false", "finished", "finished", "messages: []"])
        }
    }

    @Test("item 14: after the main thread's end its loop logs that once, and ignores calls")
    func mainThreadHasEnded() async throws {
        let child = runChild("main-thread-ends")
        #expect(child.output == ["main thread ends", "asked for everything", "nothing ran"])
        #expect(child.errorCount(of: "the main thread has ended") == 1)
        #expect(child.status == 0)
    }

    @Test("item 15 (our rule): after fork() without exec() every call is refused, and the message names the remedy")
    func forked() async throws {
        let child = runChild("forked")
        #expect(child.output == ["child: finished, nothing ran", "parent: handledSource"])
        for call in [
            "wakeUp", "stop", "perform", "async", "add(Source)", "add(Timer)", "add(Observer)", "run",
        ] {
            #expect(child.errors.contains("GRunLoop.\(call): this process was forked and did not exec()"), "\(call)")
        }
        #expect(child.errors.contains("Call exec() after fork()"))
        #expect(child.status == 0)
    }
}

/// A thread-specific value whose destructor uses the loop in two rounds.
private enum TeardownProbe {
    static let trace = Shared<[String]>([])
    static let key = Shared<pthread_key_t>(0)

    static func note(_ line: String) { trace.update { $0.append(line) } }

    static func makeKey() -> pthread_key_t {
        var made = pthread_key_t()
        pthread_key_create(&made) { round in
            let loop = GRunLoop.current
            let number = UInt(bitPattern: round)
            let ran = Flag()
            loop.perform { ran.set() }
            let result = loop.run(for: .zero)
            let isSame = GRunLoop.current === loop && !loop.isGone
            TeardownProbe.note(
                "round \(number): \(isSame ? "the same" : "another") loop, block \(ran.isSet ? "ran" : "did not run"), "
                    + "\(result)"
            )
            if number < 2 {
                pthread_setspecific(TeardownProbe.key.value, UnsafeMutableRawPointer(bitPattern: number + 1))
            }
        }
        key.value = made
        return made
    }
}

/// Uses the thread's loop in the third round of destructors, in which the first loop of the thread has ended.
private enum LateLoop {
    static let made = Weak<GRunLoop>()
    static let isMade = Flag()
    static let key = Shared<pthread_key_t>(0)

    static func makeKey() -> pthread_key_t {
        var made = pthread_key_t()
        pthread_key_create(&made) { round in
            let number = UInt(bitPattern: round)
            if number < 3 {
                pthread_setspecific(LateLoop.key.value, UnsafeMutableRawPointer(bitPattern: number + 1))
            } else {
                LateLoop.made.object = GRunLoop.current
                LateLoop.isMade.set()
            }
        }
        key.value = made
        return made
    }
}

extension GRunLoop {
    /// Returns true if the loop refuses new items, as the loop of an ended thread does.
    fileprivate var isGone: Bool {
        let source = Source {}
        add(source, forMode: "probe")
        defer { source.invalidate() }
        return !contains(source, forMode: "probe")
    }
}
