// SPDX-License-Identifier: Apache-2.0
// The calls in flight of an exported object, their limits, and the end of their callers.

import CGRunGIO
import GRunLoop

/// The calls in flight of one exported object.
final class CallsInFlight: Sendable {
    private struct Call {
        let invocation: DBus.Invocation
        /// Nil until the task's first suspension.
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private struct State {
        var calls: [String?: [ObjectIdentifier: Call]] = [:]
        /// Reports the programs that leave the bus.
        var ownerChanges: DBus.Events<Never>?
        /// The error for later calls.
        var end: GLibError?
    }

    private let connection: DBus.Connection
    private let loop: GRunLoop
    private let state = Guarded(State())

    init(on connection: DBus.Connection, _ loop: GRunLoop) { (self.connection, self.loop) = (connection, loop) }

    /// Adds a call. Returns an error if the call must be refused; otherwise the caller must remove the call.
    func add(_ invocation: DBus.Invocation, _ load: CallLoad) -> GLibError? {
        let caller = invocation.sender
        if let error = connection.state.loads.withLock({ $0.add(load, of: caller) }) { return error }
        let error = state.withLock { state in
            if state.end == nil { state.calls[caller, default: [:]][invocation.id] = Call(invocation: invocation) }
            return state.end
        }
        if error != nil { connection.state.loads.withLock { $0.remove(load, of: caller) } }
        return error
    }

    /// Stores the task of a call, unless the call was removed. Called on the loop's thread.
    func set(_ task: Task<Void, Never>, of invocation: DBus.Invocation) {
        let (isInFlight, mustEnd) = state.withLock { state in
            let call = state.calls[invocation.sender]?[invocation.id]
            if call != nil { state.calls[invocation.sender]?[invocation.id]?.task = task }
            return (call != nil, state.end != nil || call?.isCancelled == true)
        }
        if mustEnd { task.cancel() }
        if isInFlight, invocation.sender != nil { followCallers() }
    }

    func remove(_ invocation: DBus.Invocation, _ load: CallLoad) {
        let caller = invocation.sender
        connection.state.loads.withLock { $0.remove(load, of: caller) }
        // The removed references are released after unlocking.
        _ = state.withLock { state -> Call? in
            defer { if state.calls[caller]?.isEmpty == true { state.calls[caller] = nil } }
            return state.calls[caller]?.removeValue(forKey: invocation.id)
        }
    }

    /// Ends the calls with an error. Call this function once. Threads: any.
    func end(_ error: GLibError) {
        let ended = state.withLock { state in
            defer { (state.calls, state.ownerChanges, state.end) = ([:], nil, error) }
            return state
        }
        for call in ended.calls.values.flatMap(\.values) {
            call.invocation.fail(error)
            call.task?.cancel()
        }
    }

    // MARK: Callers that leave the bus

    /// Subscribes to the end of all callers, unless the object subscribes already. Called on the loop's thread.
    ///
    /// A bus limits the match rules, so one rule serves all callers. The subscription ends with the first signal that
    /// finds no call in flight, so that other programs do not keep waking an idle service.
    private func followCallers() {
        guard state.withLock({ $0.ownerChanges == nil && $0.end == nil }) else { return }
        let ownerChanges: DBus.Events<Never>? = try? connection.events(DBus.SignalMatch(ownerOf: nil), capacity: 1) {
            [weak self] signal in
            self?.ownerHasChanged(signal)
            return nil
        }
        // The next call tries again.
        guard let ownerChanges else { return }
        state.withLock { if $0.end == nil { $0.ownerChanges = ownerChanges } }
        let buffer = ownerChanges.buffer
        // A caller may have left before the subscription. No later signal is missed.
        Task.immediate(executorPreference: loop.executor) { [self] in
            let nothing = try VariantTuple().encoded()
            _ = try await connection.callBus("ListNames", nothing, returning: [String].self) { [self] names in
                if let names = names.map(Set.init) { return cancelCalls { !names.contains($0) } }
                // The next call tries again, unless another subscription was made meanwhile.
                let failed = state.withLock { state in
                    state.ownerChanges?.buffer === buffer ? state.ownerChanges.take() : nil
                }
                withExtendedLifetime(failed) {}
            }
        }
    }

    private func ownerHasChanged(_ signal: DBus.Signal) {
        let unneeded = state.withLock { $0.calls.isEmpty ? $0.ownerChanges.take() : nil }
        guard unneeded == nil, let names = try? VariantTuple<String, String, String>(variant: signal.body).values,
            names.2.isEmpty
        else { return }
        cancelCalls { $0 == names.0 }
    }

    private func cancelCalls(where hasLeft: (String) -> Bool) {
        let tasks = state.withLock { state in
            var tasks: [Task<Void, Never>] = []
            for caller in state.calls.keys {
                guard let caller, hasLeft(caller) else { continue }
                state.calls[caller] = state.calls[caller]?.mapValues { call in
                    if let task = call.task { tasks.append(task) }
                    return Call(invocation: call.invocation, task: call.task, isCancelled: true)
                }
            }
            return tasks
        }
        for task in tasks { task.cancel() }
    }
}

extension DBus.Invocation {
    fileprivate var id: ObjectIdentifier { ObjectIdentifier(self) }
}

/// The resources that calls in flight use, or a limit of them.
struct CallLoad {
    var calls = 0
    var size = 0
    var descriptors = 0

    /// Returns whether this load has no room for a call. The arguments of a single call may be larger than the limit.
    func isFull(for call: CallLoad, _ limit: CallLoad) -> Bool {
        calls >= limit.calls || size >= limit.size
            || (call.descriptors > 0 && descriptors + call.descriptors > limit.descriptors)
    }

    mutating func add(_ call: CallLoad, times factor: Int = 1) {
        calls += call.calls * factor
        size += call.size * factor
        descriptors += call.descriptors * factor
    }
}

extension CallLoad {
    /// The load of one call.
    init(of invocation: DBus.Invocation, _ arguments: Variant) {
        self.init(
            calls: 1, size: Int(arguments.withPointer { g_variant_get_size($0) }),
            descriptors: invocation.descriptors?.count ?? 0)
    }
}

/// The loads of the callers of a connection, with a limit for each caller and for all.
///
/// A connection to the bus has a limit of its own. If a user opens many connections, they fill the total, but a caller
/// with few calls is still served.
struct CallerLoads {
    /// 253 is how many descriptors a message can have.
    private static let limit = CallLoad(calls: 1024, size: 32 << 20, descriptors: 253)
    private static let limitOfAll = CallLoad(calls: 4096, size: 128 << 20, descriptors: 512)
    /// Beyond the limit of all.
    private static let least = CallLoad(calls: 16, size: 512 << 10, descriptors: 1)

    private var total = CallLoad()
    private var callers: [String?: CallLoad] = [:]

    /// Adds a call. Returns an error if the call must be refused.
    mutating func add(_ call: CallLoad, of caller: String?) -> GLibError? {
        let own = callers[caller] ?? CallLoad()
        if own.isFull(for: call, Self.limit) {
            return GLibError(
                G_DBUS_ERROR_LIMITS_EXCEEDED, "The caller has too many calls, arguments or descriptors in flight")
        }
        if total.isFull(for: call, Self.limitOfAll), own.isFull(for: call, Self.least) {
            return GLibError(
                G_DBUS_ERROR_LIMITS_EXCEEDED, "The callers have too many calls, arguments or descriptors in flight")
        }
        total.add(call)
        callers[caller, default: CallLoad()].add(call)
        return nil
    }

    mutating func remove(_ call: CallLoad, of caller: String?) {
        total.add(call, times: -1)
        callers[caller]?.add(call, times: -1)
        if callers[caller]?.calls == 0 { callers[caller] = nil }
    }
}
