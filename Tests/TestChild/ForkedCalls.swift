// SPDX-License-Identifier: Apache-2.0
// The calls of a forked child: one entry for each public function, variable and initializer, by file and name.
// ForkTests lists missing entries.

import GRunLoop
import GRunLoopDiagnostics
import GRunLoopMessagePorts
import Glibc

extension ForkScene {
    var calls: [ForkedCall] {
        loopCalls + runCalls + membershipCalls + itemCalls + isolatedCalls + performCalls + channelCalls + portCalls
            + messagePortCalls
            + notificationCalls + otherCalls
    }

    /// The call must report that it can do nothing.
    private func said(_ name: String, _ body: @escaping () throws -> Bool) -> ForkedCall {
        ForkedCall(name: name, isSaid: true, body: body)
    }

    private func said(_ name: String, _ body: @escaping () throws -> Void) -> ForkedCall {
        said(name) {
            try body()
            return true
        }
    }

    /// The call must be silent: it takes no lock, or a child uses it to clean up.
    private func silent(_ name: String, _ body: @escaping () throws -> Bool) -> ForkedCall {
        ForkedCall(name: name, isSaid: false, body: body)
    }

    private func silent(_ name: String, _ body: @escaping () throws -> Void) -> ForkedCall {
        silent(name) {
            try body()
            return true
        }
    }

    private var loopCalls: [ForkedCall] {
        [
            silent("Current.main") { GRunLoop.main === loop },
            silent("Current.current") { GRunLoop.current === loop },
            said("GRunLoop.allModes") { loop.allModes.isEmpty },
            said("GRunLoop.homeContext") { loop.homeContext == nil },
            said("GRunLoop.nextFireDate") { loop.nextFireDate(forMode: .default) == nil },
            said("CurrentMode.currentMode") { loop.currentMode == nil },
            said("AmbientModes.ambientMode") { loop.ambientMode == .default },
            said("AmbientModes.push") { _ = try loop.push(ambientMode: mode) },
            said("PushedMode.pop") { ambient?.pop() },
            said("AmbientModes.withAmbientMode") { try loop.withAmbientMode(mode) { true } },
            said("Attaching.detach") { loop.detach() },
            said("EndHandlers.addEndHandler") { (try? loop.addEndHandler {}) == nil },
            silent("EndHandlers.cancel") { ending?.cancel() == false },
            said("Attaching.attach") { loop.attach() },
            said("Running.timeSlice") {
                loop.timeSlice = .seconds(1)
                return loop.timeSlice == .zero
            },
            silent("Description.description") { loop.description.contains("forked") },
        ]
    }

    private var runCalls: [ForkedCall] {
        [
            said("Running.run") { loop.run(for: .zero) == .finished },
            said("Running.run") { loop.run(until: .now) },
            said("Running.run") { !loop.run(mode: .default, before: .now) },
            said("Running.acceptInput") { loop.acceptInput(forMode: .default, before: .now) },
            said("Running.limitDate") { loop.limitDate(forMode: .default) == nil },
            said("Running.stop") { loop.stop() },
            said("Waking.wakeUp") { loop.wakeUp() },
            said("Running.isWaiting") { !loop.isWaiting },
        ]
    }

    private var membershipCalls: [ForkedCall] {
        let items: [[ForkedCall]] = [
            membership("Timer", timer), membership("SourceMembership", source),
            membership("DescriptorSource", descriptor), membership("Observer", observer),
            membership("IdleQueue", idleQueue), membership("Port", port), membership("MessagePort", messagePort),
        ]
        return items.flatMap { $0 } + [
            said("Item.label") { timer.label == nil },
            said("Item.add") { loop.add(timer, forMode: mode) },
            said("Item.remove") { loop.remove(timer, forMode: .default) },
            said("Item.contains") { !loop.contains(timer, forMode: .default) },
            said("ContextMembership.add") { loop.add(GRunLoop.Context(context), forMode: mode) },
            said("ContextMembership.remove") { loop.remove(GRunLoop.Context(context), forMode: mode) },
            said("ContextMembership.contains") { !loop.contains(GRunLoop.Context(context), forMode: mode) },
            said("ContextMembership.contexts") { loop.contexts(forMode: .default).isEmpty },
            said("CommonMembership.addCommonMode") { try loop.addCommonMode("a third") },
        ]
    }

    private var itemCalls: [ForkedCall] {
        [
            silent("Timer.init") {
                _ = GRunLoop.Timer(fireAt: .now) { _ in }
            },
            silent("Timer.init") {
                _ = GRunLoop.Timer(interval: .zero, repeats: true) { _ in }
            },
            said("Current.scheduled") { _ = GRunLoop.Timer.scheduled(interval: .zero, repeats: false) { _ in } },
            said("TimerDates.fireDate") {
                timer.fireDate = .now
                return timer.fireDate == GRunLoop.distantFuture
            },
            said("TimerDates.schedule") { timer.schedule(after: .zero) },
            said("TimerDates.interval") { timer.interval == .zero },
            said("TimerDates.repeats") { !timer.repeats },
            said("TimerDates.tolerance") {
                timer.tolerance = .seconds(2)
                return timer.tolerance == .zero
            },
            silent("Timer.isValid") { !timer.isValid },
            silent("Timer.invalidate") { timer.invalidate() },
            said("TimerStep.fire") { timer.fire() },
            silent("Timer.description") { timer.description.contains("forked") },
            silent("Source.init") { _ = GRunLoop.Source {} },
            said("Source.signal") { source.signal() },
            said("Source.isSignalled") { !source.isSignalled },
            silent("Source.isValid") { !source.isValid },
            silent("Source.invalidate") { source.invalidate() },
            silent("Source.description") { source.description.contains("valid = No") },
            silent("DescriptorSource.init") { _ = GRunLoop.DescriptorSource(descriptor: 0) { _, _ in } },
            said("DescriptorSource.conditions") {
                descriptor.conditions = .writable
                return descriptor.conditions == .readable
            },
            silent("DescriptorSource.isValid") { !descriptor.isValid },
            silent("DescriptorSource.invalidate") { descriptor.invalidate() },
            silent("DescriptorSource.description") { descriptor.description.contains("valid = No") },
            silent("SignalSource.init") { isForked { try GRunLoop.SignalSource(SIGUSR1) { _, _ in } } },
            said("SignalSource.carryOut") { try signal?.carryOut(.contains, of: loop, forMode: mode) == false },
            silent("SignalSource.isValid") { signal?.isValid == false },
            said("SignalSource.label") {
                signal?.label = "a child's"
                return signal?.label == nil
            },
            silent("SignalSource.description") { signal?.description.contains("valid = No") == true },
            silent("SignalSource.invalidate") { signal?.invalidate() },
            silent("ChildSource.init") { (try? GRunLoop.ChildSource(pid: getppid()) { _, _ in }) == nil },
            said("ChildSource.carryOut") { try child?.carryOut(.contains, of: loop, forMode: mode) == false },
            silent("ChildSource.isValid") { child?.isValid == false },
            said("ChildSource.label") {
                child?.label = "a child's"
                return child?.label == nil
            },
            silent("ChildSource.description") { child?.description.contains("valid = No") == true },
            silent("ChildSource.invalidate") { child?.invalidate() },
            silent("ChildSource.pid") { (child?.pid ?? 0) > 0 },
            silent("Observer.init") { _ = GRunLoop.Observer(activities: .all) { _, _ in } },
            silent("Observer.isValid") { !observer.isValid },
            silent("Observer.invalidate") { observer.invalidate() },
            silent("Observer.description") { observer.description.contains("valid = No") },
            silent("IdleQueue.init") { _ = GRunLoop.IdleQueue(timePerPass: .seconds(1)) },
            said("IdleQueue.enqueue") { !idleQueue.enqueue {} },
            said("IsolatedIdleQueue.enqueue") { !idleQueue.enqueue { @MainActor in } },
            said("IsolatedIdleQueue.enqueue") {
                let queue = idleQueue
                return !isolation.assumeIsolated { queue.enqueue(isolation: $0) {} }
            },
            said("IdleQueue.count") { idleQueue.count == 0 },
            silent("IdleQueue.removeAll") { idleQueue.removeAll() },
            silent("IdleQueue.isValid") { !idleQueue.isValid },
            silent("IdleQueue.invalidate") { idleQueue.invalidate() },
            silent("IdleQueue.description") { idleQueue.description.contains("forked") },
        ]
    }

    /// The calls that a loop makes on each kind of item when a mode adds or removes it, and those of its label, which
    /// another thread may have been setting at the fork. A name with a stroke is a further call of one declaration.
    private func membership<Item: GRunLoop.Item>(_ file: String, _ item: Item) -> [ForkedCall] {
        [
            said("\(file).carryOut") { try loop.add(item, forMode: mode) },
            said("\(file).carryOut/remove") { loop.remove(item, forMode: .common) },
            said("\(file).carryOut/contains") { !loop.contains(item, forMode: .common) },
            said("Item.label/\(file)") {
                item.label = "a child's"
                return item.label == nil
            },
        ]
    }

    private var isolatedCalls: [ForkedCall] {
        [
            said("Isolation.isolation") { _ = loop.isolation },
            silent("Isolation.unownedExecutor") { _ = isolation.unownedExecutor },
            silent("IsolatedSource.init") { _ = GRunLoop.Source { @MainActor in } },
            silent("IsolatedDescriptorSource.init") {
                _ = GRunLoop.DescriptorSource(descriptor: 0) { @MainActor _, _ in }
            },
            silent("IsolatedTimer.init") { _ = GRunLoop.Timer(fireAt: .now) { @MainActor _ in } },
            silent("IsolatedTimer.init") { _ = GRunLoop.Timer(interval: .zero, repeats: false) { @MainActor _ in } },
            silent("IsolatedObserver.init") { _ = GRunLoop.Observer(activities: .all) { @MainActor _, _ in } },
            silent("IsolatedSignalSource.init") {
                isForked { try GRunLoop.SignalSource(SIGUSR1) { @MainActor _, _ in } }
            },
            silent("IsolatedChildSource.init") { (try? GRunLoop.ChildSource(pid: 0) { @MainActor _, _ in }) == nil },
            silent("IsolatedSignalSource.init") {
                isolation.assumeIsolated { here in
                    isForked { try GRunLoop.SignalSource(SIGUSR1, isolation: here) { _, _ in } }
                }
            },
            silent("IsolatedChildSource.init") {
                isolation.assumeIsolated { (try? GRunLoop.ChildSource(pid: 0, isolation: $0) { _, _ in }) == nil }
            },
            said("IsolatedTimer.scheduled") {
                _ = GRunLoop.Timer.scheduled(interval: .zero, repeats: false) { @MainActor _ in }
            },
            silent("IsolatedSource.init") { isolation.assumeIsolated { _ = GRunLoop.Source(isolation: $0) {} } },
            silent("IsolatedDescriptorSource.init") {
                isolation.assumeIsolated { _ = GRunLoop.DescriptorSource(descriptor: 0, isolation: $0) { _, _ in } }
            },
            silent("IsolatedTimer.init") {
                isolation.assumeIsolated { _ = GRunLoop.Timer(fireAt: .now, isolation: $0) { _ in } }
            },
            silent("IsolatedTimer.init") {
                isolation.assumeIsolated {
                    _ = GRunLoop.Timer(interval: .zero, repeats: false, isolation: $0) { _ in }
                }
            },
            silent("IsolatedObserver.init") {
                isolation.assumeIsolated { _ = GRunLoop.Observer(activities: .all, isolation: $0) { _, _ in } }
            },
            said("IsolatedTimer.scheduled") {
                isolation.assumeIsolated {
                    _ = GRunLoop.Timer.scheduled(interval: .zero, repeats: false, isolation: $0) { _ in }
                }
            },
            said("IsolatedPerforms.perform") { loop.perform(after: .zero) { @MainActor in } },
            said("IsolatedPerforms.perform") { loop.perform(order: 0, inModes: [mode]) { @MainActor in } },
            said("IsolatedPerforms.perform") {
                isolation.assumeIsolated { [loop] here in _ = loop.perform(after: .zero, isolation: here) {} }
            },
            said("IsolatedPerforms.perform") {
                isolation.assumeIsolated { [loop, mode] here in
                    loop.perform(order: 0, inModes: [mode], isolation: here) {}
                }
            },
            said("IsolatedPerforms.asyncOnMain") { GRunLoop.asyncOnMain {} },
            said("IsolatedPerforms.async") { loop.async { @MainActor in } },
            said("IsolatedPerforms.perform") { loop.perform { @MainActor in } },
            said("IsolatedPerforms.performOnThread") { (try? loop.performOnThread { @MainActor in }) == nil },
        ]
    }

    private var performCalls: [ForkedCall] {
        [
            said("Blocks.perform") { loop.perform {} },
            said("Blocks.perform") { loop.perform(inModes: [mode]) {} },
            said("Blocks.async") { loop.async {} },
            said("Blocks.async") { loop.async(inModes: [mode]) {} },
            said("Performs.performOnThread") { (try? loop.performOnThread {}) == nil },
            said("Performs.performAndWait") { (try? loop.performAndWait {}) == nil },
            said("Performs.perform") { loop.perform(after: .zero) {} },
            said("Performs.perform") { loop.perform(after: .zero, inModes: [mode]) {} },
            said("DelayedPerform.cancel") { !delayed.cancel() },
            said("Performs.perform") { loop.perform(order: 0, inModes: [mode]) {} },
            said("Performs.cancelPerforms") { loop.cancelPerforms(target: pipe) },
        ]
    }

    private var messagePortCalls: [ForkedCall] {
        [
            silent("MessagePort.init") { refusesForked { _ = try GRunLoop.MessagePort("a") { _ in } } },
            silent("MessagePort.init") { refusesForked { _ = try GRunLoop.MessagePort(replying: "a") { _ in nil } } },
            silent("MessagePortIsolated.init") {
                refusesForked { _ = try GRunLoop.MessagePort("a") { @MainActor _ in } }
            },
            silent("MessagePortIsolated.init") {
                refusesForked { _ = try GRunLoop.MessagePort(replying: "a") { @MainActor _ in nil } }
            },
            silent("MessagePortIsolated.init") {
                MainActor.assumeIsolated {
                    (try? GRunLoop.MessagePort("a", isolation: MainActor.shared) { _ in }) == nil
                }
            },
            silent("MessagePortIsolated.init") {
                MainActor.assumeIsolated {
                    (try? GRunLoop.MessagePort(replying: "a", isolation: MainActor.shared) { _ in nil }) == nil
                }
            },
            silent("MessagePort.name") { messagePort.name == nil },
            silent("MessagePort.setName") { refusesForked { try messagePort.setName("a") } },
            silent("MessagePort.isValid") { !messagePort.isValid },
            said("MessagePortDepth.maximumHandlerDepth") {
                messagePort.maximumHandlerDepth = 1
                return messagePort.maximumHandlerDepth == 0
            },
            said("MessagePort.label") { messagePort.label == nil },
            silent("MessagePort.description") { messagePort.description.contains("valid = No") },
            said("MessagePort.onInvalidation") { messagePort.onInvalidation {} },
            silent("MessagePort.invalidate") { messagePort.invalidate() },
            said("MessagePortMessage.send") { try reply.value?.send() == false },
            silent("RemoteMessagePort.lookUp") { refusesForked { _ = try GRunLoop.RemoteMessagePort.lookUp("a") } },
            silent("RemoteMessagePort.isValid") { !remotePort.isValid },
            said("RemoteMessagePort.onInvalidation") { remotePort.onInvalidation {} },
            said("MessageRequests.send") { refusesInvalid { try remotePort.send(1) } },
            said("MessageRequests.request") {
                refusesInvalid { _ = try remotePort.request(1, sendTimeout: .zero, receiveTimeout: .zero) }
            },
            said("MessageRequests.cancelWait") { !GRunLoop.RemoteMessagePort.cancelWait() },
            silent("RemoteMessagePort.invalidate") { remotePort.invalidate() },
            silent("RemoteMessagePort.description") { remotePort.description.contains("forked") },
        ]
    }

    private func refusesForked(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return error as? GRunLoop.MessagePortError == .forked }
        return false
    }

    private func refusesInvalid(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return error as? GRunLoop.MessageRequestError == .isInvalid }
        return false
    }

    private var portCalls: [ForkedCall] {
        [
            silent("PortSending.init") { _ = GRunLoop.Port() },
            silent("PortIsolated.init") { _ = GRunLoop.Port { @MainActor _ in } },
            silent("PortIsolated.init") {
                MainActor.assumeIsolated { _ = GRunLoop.Port(isolation: MainActor.shared) { _ in } }
            },
            said("PortSending.trySend") { !port.trySend(GRunLoop.PortMessage()) },
            said("PortSending.send") { !port.send(GRunLoop.PortMessage(), before: GRunLoop.distantFuture) },
            said("PortSending.send") { !port.send(GRunLoop.PortMessage(), timeout: .seconds(60)) },
            silent("PortSending.capacity") { port.capacity == .max },
            silent("PortSending.count") { port.count == 0 },
            silent("Port.isValid") { !port.isValid },
            said("Port.onInvalidation") { port.onInvalidation {} },
            silent("Port.invalidate") { port.invalidate() },
            silent("Port.description") { port.description.contains("forked") },
            said("PortMessages.messages") { _ = port.messages(on: loop).makeAsyncIterator() },
        ]
    }

    private var channelCalls: [ForkedCall] {
        [
            silent("Channel.init") { _ = GRunLoop.Channel<Int>() },
            said("Channel.trySend") { channel.trySend(1) == .closed },
            silent("Channel.close") { channel.close() },
            silent("Channel.invalidate") { channel.invalidate() },
            said("Channel.label") {
                channel.label = "a child's"
                return channel.label == nil
            },
            silent("Channel.isOpen") { !channel.isOpen },
            silent("Channel.capacity") { channel.capacity == .max },
            silent("Channel.count") { channel.count == 0 },
            said("ChannelReceiving.carryOut") { loop.add(channel, forMode: mode) },
            silent("Channel.isValid") { !channel.isValid },
            said("ChannelReceiving.receive") { GRunLoop.Channel<Int>().receive(on: loop) { _ in } },
            said("ChannelReceiving.receive") { GRunLoop.Channel<Int>().receive(on: loop) { @MainActor _ in } },
            said("ChannelReceiving.receive") {
                isolation.assumeIsolated { [loop] here in
                    GRunLoop.Channel<Int>().receive(on: loop, isolation: here) { _ in }
                }
            },
            said("ChannelReceiving.receiveBatches") { GRunLoop.Channel<Int>().receiveBatches(on: loop) { _ in } },
            said("ChannelReceiving.receiveBatches") {
                GRunLoop.Channel<Int>().receiveBatches(on: loop) { @MainActor _ in }
            },
            said("ChannelReceiving.receiveBatches") {
                isolation.assumeIsolated { [loop] here in
                    GRunLoop.Channel<Int>().receiveBatches(on: loop, isolation: here) { _ in }
                }
            },
            silent("ChannelElements.elements") { _ = GRunLoop.Channel<Int>().elements(on: loop) },
            said("ChannelElements.makeAsyncIterator") {
                _ = GRunLoop.Channel<Int>().elements(on: loop).makeAsyncIterator()
            },
        ]
    }

    private var notificationCalls: [ForkedCall] {
        [
            silent("Notification.init") { _ = GRunLoop.Notification(name: "a", payload: 1) },
            silent("Notification.init") { _ = GRunLoop.Notification(name: "a") },
            silent("Notification.init") { GRunLoop.Coalescing(rawValue: 1) == .onName },
            silent("NotificationQueue.init") { _ = GRunLoop.NotificationQueue<String, Void>(on: loop) },
            silent("NotificationQueue.loop") { notifications.loop === loop },
            said("NotificationQueue.enqueue") { !notifications.enqueue(.init(name: "b"), style: .asap) },
            said("NotificationQueue.dequeue") { notifications.dequeue(matching: .init(name: "a")) == 0 },
            said("NotificationQueue.count") { notifications.count == 0 },
            said("NotificationObserving.observe") { _ = notifications.observe { _ in } },
            said("NotificationObserving.observe") { _ = notifications.observe { @MainActor _ in } },
            said("NotificationObserving.observe") {
                isolation.assumeIsolated { [notifications] here in
                    _ = notifications.observe(isolation: here) { _ in }
                }
            },
            silent("NotificationObserving.cancel") { observation.cancel() },
        ]
    }

    private var otherCalls: [ForkedCall] {
        [
            said("Executor.init") { _ = GRunLoop.Executor(loop) },
            said("Executor.executor") { _ = loop.executor },
            silent("Executor.isIsolatingCurrentContext") { executor.isIsolatingCurrentContext() == true },
            silent("Executor.checkIsolated") { executor.checkIsolated() },
            silent("Executor.isSameExclusiveExecutionContext") {
                executor.isSameExclusiveExecutionContext(other: executor)
            },
            silent("Executor.asUnownedSerialExecutor") { _ = executor.asUnownedSerialExecutor() },
            said("Executor.enqueueTask") { [executor] in
                Task(executorPreference: executor) {}
            },
            said("ItemSequence.makeAsyncIterator") { _ = loop.ticks(every: .seconds(1)).makeAsyncIterator() },
            silent("Ticks.ticks") { _ = loop.ticks(every: .seconds(1)) },
            silent("Activities.activities") { _ = loop.activities(.exit) },
            silent("Readiness.readiness") { _ = loop.readiness(of: pipe.readEnd) },
            silent("Signals.signals") { _ = loop.signals([SIGUSR1]) },
            silent("LoopClock.clock") { _ = loop.clock },
            silent("LoopClock.now") { _ = loop.clock.now },
            silent("LoopClock.minimumResolution") { _ = loop.clock.minimumResolution },
            silent("ThreadLoops.now") { _ = GRunLoop.now },
            silent("VirtualTime.withVirtualTime") { GRunLoop.withVirtualTime { _ in } },
            silent("VirtualTime.now") { GRunLoop.withVirtualTime { _ = $0.now } },
            said("VirtualTime.advance") { GRunLoop.withVirtualTime { $0.advance(by: .seconds(1)) } },
            said("VirtualTime.advance") { GRunLoop.withVirtualTime { $0.advance(to: GRunLoop.distantFuture) } },
            said("VirtualTime.advanceToNextTimer") { GRunLoop.withVirtualTime { !$0.advanceToNextTimer() } },
            silent("Trace.init") { _ = GRunLoop.Trace() },
            said("Trace.events") { trace.events.isEmpty },
            said("Trace.lines") { trace.lines.isEmpty },
            said("Trace.removeAll") { trace.removeAll() },
            said("Trace.startTracing") { loop.startTracing(trace) },
            said("Trace.stopTracing") { loop.stopTracing() },
            silent("Thread.init") {
                do throws(GRunLoop.SystemError) {
                    _ = try GRunLoop.Thread()
                    return false
                } catch {
                    return error == .forked && error.description.contains("forked")
                }
            },
            silent("StallMonitor.init") {
                do throws(GRunLoop.SystemError) {
                    _ = try GRunLoop.StallMonitor(loop, threshold: .seconds(1))
                    return false
                } catch { return error == .forked }
            },
            silent("StallMonitor.hasFrames") { monitor?.hasFrames == true },
            silent("StallMonitor.reports") { _ = monitor?.reports },
            silent("StallMonitor.stop") { monitor?.stop() },
            silent("Timeline.init") { !GRunLoop.Timeline().isRecording },
            said("Timeline.start") { timeline.start() },
            silent("Timeline.stop") { timeline.stop() },
            silent("Timeline.isRecording") { !timeline.isRecording },
            silent("Timeline.write") {
                do throws(GRunLoop.SystemError) {
                    try timeline.write(to: "/dev/null", as: .html)
                    return false
                } catch { return error == .forked }
            },
            said("Thread.stop") { thread?.stop() },
            said("Thread.join") { thread?.join() },
        ]
    }
}

/// Whether the call throws the error for forked processes.
private func isForked(_ make: () throws -> GRunLoop.SignalSource) -> Bool {
    do {
        _ = try make()
        return false
    } catch {
        return error as? GRunLoop.SystemError == .forked && "\(error)".contains("forked")
    }
}
