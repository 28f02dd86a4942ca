// SPDX-License-Identifier: Apache-2.0
// The end of a loop, when its thread ends.

import CGRun
import Glibc

extension GRunLoop {
    /// Ends the loop, on the ending thread. GLib may have freed its thread-specific data already.
    ///
    /// Calls the end handlers, notifies the waiters, runs the remaining jobs, and calls the cancel closures of sources.
    /// Releases blocks without running them. Items stay valid, and can be added to another loop.
    func endWithThread() {
        repeat { callEndHandlers() } while !Fork.isChild && !lock.withLock { endHandlers.closeIfEmpty() }
        // A handler may have forked. In the child nothing is released, because everything belongs to the parent.
        guard !Fork.isChild else { return }
        // First resumes the tasks that await this loop. Tasks that live on the loop can then still finish as jobs.
        for waiter in lock.withLock({ waiters.close() }) { waiter.loopHasEnded() }
        jobQueue?.runRemaining()
        // A job may have forked, too.
        if !Fork.isChild { takeDown() }
        // The jobs are handed over last, because takeDown() releases closures of actors, and late jobs may run code of
        // these actors on other threads.
        if !Fork.isChild { handOverJobs() }
    }

    private func takeDown() {
        let remains = lock.withLock {
            // Ends the host's run, unless a callout has ended the thread. In that case runs are still on the stack, and
            // the host's run does not report its exit.
            if innermost == nil { endHostedRunLocked(finishesPass: false) }
            dead.store(true, ordering: .relaxed)
            probe?.loopEndsLocked()
            return takeRemainsLocked()
        }
        ThreadLoops.remove(self)
        // Replaces the property before the old value is released, because the deinit of a target may use the property.
        remains.released.append(cancellables)
        cancellables = Cancellables()
        probe?.loopHasEnded()
        for membership in remains.sources {
            membership.source.cancel?(self, membership.mode.name)
            // The closure may have forked. In the child nothing is released.
            if Fork.isChild { return _ = Unmanaged.passRetained(remains) }
        }
        for case .context(let context) in remains.items { Contexts.release(context) }
        for frame in remains.frames { frame.contexts.abandon() }
        // The hub leaves its context before its descriptors are closed, because GLib must not poll a number that was
        // reused.
        remains.home?.close()
        remains.home = nil
        for descriptor in remains.descriptors { close(descriptor) }
        for request in remains.performs { request.loopHasEnded() }
        for frame in remains.frames { frame.called.end() }
        withExtendedLifetime(remains) {}
    }

    /// Calls all end handlers, and the handlers that they add, on the ending thread.
    func callEndHandlers() {
        // In a forked child, the handlers belong to the parent.
        guard !Fork.isChild else { return }
        var body = lock.withLock { endHandlers.takeLast() }
        while body != nil {
            // A handler may have forked.
            if Fork.isChild { return body = nil }
            callOutToEndHandler(&body)
            body = lock.withLock { endHandlers.takeLast() }
        }
    }

    /// The objects that an ended loop leaves behind. They are released after unlocking.
    private final class Remains {
        var sources: [SourceMembership] = []
        var blocks: [BlockQueue.Entry] = []
        var contexts: [ServedContext] = []
        var items: [CommonItem] = []
        var home: ServedContext?
        /// The frames of the runs that were on the stack, innermost first.
        var frames: [Frame] = []
        var performs: [PerformQueue.Request] = []
        var released: [Any] = []
        var descriptors: [Int32] = []
    }

    private func takeRemainsLocked() -> Remains {
        let remains = Remains()
        remains.performs = performs.close()
        for call in performing { call.leave() }
        performing = []
        for mode in modes.values { emptyLocked(mode, into: remains) }
        remains.blocks += commonBlocks.removeAll()
        remains.items = commonItems.removeAll()
        for item in remains.items {
            // Also removes common items, because a common item need not be in a mode.
            switch item {
            case .timer(let timer): removeEverywhereLocked(timer)
            case .observer(let observer): removeEverywhereLocked(observer)
            case .idleQueue(let queue): removeEverywhereLocked(queue)
            case .port(let port): removeEverywhereLocked(port)
            case .descriptor(let source): removeEverywhereLocked(source)
            case .source(let source): remains.released.append(source.ceaseCommon(in: self) as Any)
            case .context: break
            }
        }
        invariant(modes.values.allSatisfy(\.isEmpty), "no item outlives its loop")
        // If a callout has ended the thread, runs are still on the stack. The frames of these runs are released here,
        // because the thread never returns to them.
        while let frame = innermost?.takeRetainedValue() {
            remains.frames.append(frame)
            if let taken = frame.takenBlocks {
                remains.blocks += taken.removeAll()
                taken.deallocate()
            }
            popLocked(frame)
        }
        remains.contexts += host.poll.carried.removeAll() + host.poll.gone
        host.poll.gone = []
        remains.home = home
        home = nil
        if let context = host.detachedFrom { remains.items.append(.context(context)) }
        host.detachedFrom = nil
        remains.released += host.popAll()
        remains.descriptors += host.poll.close()
        return remains
    }

    private func emptyLocked(_ mode: ModeState, into remains: Remains) {
        remains.sources += mode.sources.values.compactMap { leaveLocked($0.source, mode) }
        let members = mode.heap.all + mode.firing.map { .timer($0.takeUnretainedValue()) }
        let (observers, descriptors) = (mode.observers.all, mode.descriptors.all)
        let (idleQueues, ports) = (mode.idleQueues.all, mode.ports.all)
        for member in members {
            switch member {
            case .timer(let timer): removeEverywhereLocked(timer)
            case .perform(let name, _): remains.released.append(mode.remove(name) as Any)
            }
        }
        for observer in observers { removeEverywhereLocked(observer) }
        for source in descriptors { removeEverywhereLocked(source) }
        for queue in idleQueues { removeEverywhereLocked(queue) }
        for port in ports { removeEverywhereLocked(port) }
        remains.released += [members, observers, descriptors, idleQueues, ports] as [Any]
        // Takes the epoll out of the mode, so that it is closed now. Otherwise a program that retains the loop would
        // also keep the epoll open.
        if let epoll = mode.descriptors.end() { remains.descriptors.append(epoll) }
        remains.blocks += mode.blocks.removeAll()
        remains.contexts += mode.addedContexts
        mode.addedContexts = []
        if let own = mode.ownContext { remains.contexts.append(own) }
        mode.ownContext = nil
        mode.contextsVersion += 1
    }
}

extension Called {
    /// Ends a call whose closure has ended the thread. Otherwise the item would count as being called forever, and no
    /// other loop could call it. A thread that waits in `performAndWait` would wait forever.
    fileprivate func end() {
        timer?._withUnsafeGuaranteedRef { $0.endFiring(due) }
        idleQueue?._withUnsafeGuaranteedRef { $0.endCall() }
        observer?._withUnsafeGuaranteedRef { $0.endCall() }
        waiter?.loopHasEnded()
    }
}

@inline(never) func callOutToEndHandler(_ handler: inout (@Sendable () -> Void)?) {
    if let body = handler.take() { body() }
    cgrun_keep_frame()
}
