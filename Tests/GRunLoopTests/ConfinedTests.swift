// SPDX-License-Identifier: Apache-2.0
// Closures that are not @Sendable belong to an actor. They are called and released on that actor.

import Dispatch
import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

/// A plain class: neither Sendable nor isolated to an actor. Records where it is called and released.
private final class Model {
    var count = 0
    private let trace: Recorder
    private let home = threadID

    init(_ trace: Recorder) { self.trace = trace }

    deinit { trace(threadID == home ? "let go at home" : "let go elsewhere") }

    func touch(_ name: String) {
        count += 1
        trace(threadID == home ? name : "\(name) elsewhere")
    }
}

private actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var count = 0
    private var held: GRunLoop.Source?
    private let gone: Witness?

    init(on loop: GRunLoop, _ gone: Witness? = nil) {
        executor = GRunLoop.Executor(loop, label: "Resident")
        self.gone = gone
    }

    func start(on loop: GRunLoop, until wanted: Int, _ ended: Flag) {
        var fires = 0
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true, isolation: self) { timer in
            self.count += 1
            fires += 1
            guard fires == wanted else { return }
            timer.invalidate()
            ended.set()
        }
        loop.add(timer, forMode: .common)
    }

    func hold(in loop: GRunLoop) -> GRunLoop.Source {
        let source = GRunLoop.Source(isolation: self) { self.count += 1 }
        loop.add(source, forMode: .common)
        held = source
        return source
    }

    func currentCount() -> Int { count }
}

@Suite("Closures that belong to an actor") struct ConfinedTests {
    @Test("every item of a plain class calls it on its thread, and releases it there")
    func plainClass() throws {
        let trace = Recorder()
        let pipe = Pipe()
        pipe.send()
        let worker = try GRunLoop.Thread(name: "plain") { here in
            let model = Model(trace)
            let loop = here.loop
            loop.add(GRunLoop.Timer(fireAt: .now, isolation: here) { _ in model.touch("timer") }, forMode: .default)
            let source = GRunLoop.Source(isolation: here) { model.touch("source") }
            loop.add(source, forMode: .default)
            source.signal()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd, isolation: here) { source, _ in
                model.touch("descriptor")
                source.invalidate()
            }
            try? loop.add(descriptor, forMode: .default)
            let observer = GRunLoop.Observer(activities: .entry, repeats: false, isolation: here) { _, _ in
                model.touch("observer")
            }
            loop.add(observer, forMode: .default)
            loop.perform(after: .zero, isolation: here) { model.touch("later") }
            loop.perform(order: 0, inModes: [.default], isolation: here) { model.touch("ordered") }
            _ = GRunLoop.Timer.scheduled(interval: .zero, repeats: false, isolation: here) { _ in
                model.touch("scheduled")
            }
            let queue = GRunLoop.IdleQueue()
            loop.add(queue, forMode: .default)
            queue.enqueue(isolation: here) { model.touch("idle") }
        }
        let names = ["descriptor", "idle", "later", "observer", "ordered", "scheduled", "source", "timer"]
        #expect(trace.wait(forCount: names.count))
        #expect(trace.lines.sorted() == names)
        worker.stop()
        worker.join()
        #expect(trace.lines.last == "let go at home")
    }

    @Test("a timer closure changes the state of its actor on a loop and local variables of the actor's function")
    func actor() async throws {
        try await withWorker { loop in
            let resident = Resident(on: loop)
            let ended = Flag()
            await resident.start(on: loop, until: 3, ended)
            #expect(ended.wait())
            #expect(await resident.currentCount() == 3)
        }
    }

    @Test("an item that is invalidated or released on another thread releases its closure on its home thread")
    func invalidatedElsewhere() throws {
        let trace = Recorder()
        let items = Shared<[() -> Void]>([])
        let worker = try GRunLoop.Thread(name: "home") { here in
            let loop = here.loop
            func model() -> Model { Model(trace) }
            let (first, second, third, fourth, fifth) = (model(), model(), model(), model(), model())
            let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: true, isolation: here) { _ in
                first.touch("timer")
            }
            loop.add(timer, forMode: .default)
            let observer = GRunLoop.Observer(activities: .exit, isolation: here) { _, _ in second.touch("observer") }
            loop.add(observer, forMode: .default)
            let source = GRunLoop.Source(isolation: here) { third.touch("source") }
            loop.add(source, forMode: .default)
            let descriptor = GRunLoop.DescriptorSource(descriptor: 0, isolation: here) { _, _ in
                fourth.touch("descriptor")
            }
            let dropped = GRunLoop.Timer(fireAt: .now, isolation: here) { _ in fifth.touch("dropped") }
            items.value = [
                { timer.invalidate() }, { observer.invalidate() }, { source.invalidate() },
                { descriptor.invalidate() }, { withExtendedLifetime(dropped) {} },
            ]
        }
        for count in 1...5 {
            let item = items.update { $0.removeFirst() }
            item()
            _ = consume item
            #expect(trace.wait(forCount: count))
        }
        #expect(trace.lines == Array(repeating: "let go at home", count: 5))
        worker.stop()
        worker.join()
    }

    // The address sanitizer reports the closure as a leak, because it is kept forever.
    @Test(
        "a closure that is left when its thread has ended is kept, and never released on another thread",
        .disabled(if: sanitizer == "address"))
    func afterTheEnd() throws {
        let trace = Recorder()
        let item = Shared<GRunLoop.Source?>(nil)
        let worker = try GRunLoop.Thread(name: "home") { here in
            let model = Model(trace)
            item.value = GRunLoop.Source(isolation: here) { model.touch("source") }
        }
        worker.stop()
        worker.join()
        item.value?.invalidate()
        item.value = nil
        #expect(trace.lines == [])
    }

    @Test("an actor's perform can have any object of the actor as target, and releases it there", arguments: [0, 1, 2])
    func target(way: Int) throws {
        let trace = Recorder()
        let worker = try GRunLoop.Thread(name: "home") { here in
            let model = Model(trace)
            let body = { trace("performed") }
            here.loop.perform(after: .zero, target: model, key: 1, isolation: here, body)
            here.loop.perform(order: 0, inModes: [.default], target: model, key: 2, isolation: here, body)
            if way > 0 { here.loop.cancelPerforms(target: model, key: way == 1 ? 1 : nil) }
        }
        #expect(trace.wait(forCount: 3 - way))
        worker.stop()
        worker.join()
        #expect(trace.lines == Array(repeating: "performed", count: 2 - way) + ["let go at home"])
    }

    // In this process libdispatch runs the main queue, on threads of its own.
    @Test("a closure of the main actor that ends on another thread is released on the main queue, whatever runs it")
    func mainActor() {
        let gone = Flag()
        let witness = Shared<Witness?>(
            Witness {
                dispatchPrecondition(condition: .onQueue(.main))
                gone.set()
            })
        // Makes the handler in a function, so that the thread keeps no reference when the timer is released.
        @Sendable func handler() -> @MainActor (GRunLoop.Timer) -> Void {
            let held = witness.value
            witness.value = nil
            return { _ in withExtendedLifetime(held) {} }
        }
        onPlainThread { _ = GRunLoop.Timer(fireAt: .now, handler: handler()) }
        #expect(gone.wait())
    }

    @Test("an actor that holds its own source is released when the source is invalidated")
    func cycle() async throws {
        try await withWorker { loop in
            let gone = Flag()
            func make() async -> GRunLoop.Source {
                await Resident(on: loop, Witness { gone.set() }).hold(in: loop)
            }
            let source = await make()
            #expect(!gone.isSet)
            source.invalidate()
            #expect(gone.wait())
        }
    }

    @Test("in virtual time, items of the thread's own actors may be in the virtual loop")
    func virtualTime() throws {
        let trace = Recorder()
        let worker = try GRunLoop.Thread(name: "home") { here in
            let model = Model(trace)
            GRunLoop.withVirtualTime { time in
                let timer = GRunLoop.Timer(interval: .seconds(60), repeats: true, isolation: here) { _ in
                    model.touch("minute")
                }
                time.loop.add(timer, forMode: .default)
                time.advance(by: .seconds(120))
                timer.invalidate()
            }
            time(of: model)
        }
        @Sendable func time(of model: Model) { trace("\(model.count)") }
        worker.stop()
        worker.join()
        #expect(trace.lines == ["minute", "minute", "2", "let go at home"])
    }

    @Test(
        "a closure is not called where its actor does not run: the process ends with a message",
        arguments: [
            ("timer-elsewhere", "the closure of this Timer belongs to an actor"),
            ("source-elsewhere", "the closure of this Source belongs to an actor"),
            ("descriptor-elsewhere", "the closure of this DescriptorSource belongs to an actor"),
            ("observer-elsewhere", "the closure of this Observer belongs to an actor"),
            ("timer-elsewhere-too", "the closure of this Timer belongs to an actor"),
            ("perform-elsewhere", "the closure of this perform belongs to an actor"),
            ("async-elsewhere", "the closure of this block belongs to an actor"),
            ("block-elsewhere", "the closure of this block belongs to an actor"),
            ("on-thread-elsewhere", "the closure of this perform belongs to an actor"),
            ("fired-elsewhere", "was called on a thread where the actor does not run"),
            ("in-virtual-time-elsewhere", "the closure of this Timer belongs to an actor"),
            ("to-no-loop", "has a closure of an actor that runs on no run loop"),
            ("to-the-main-actor-elsewhere", "has a closure of an actor that runs on no run loop"),
        ])
    func elsewhere(scenario: String, message: String) {
        let child = runChild("confined-\(scenario)")
        #expect(child.output == (scenario.hasPrefix("to-") ? [] : ["before"]))
        #expect(child.signal != nil)
        #expect(child.errorCount(of: message) == 1, "\(child.errors)")
    }
}
