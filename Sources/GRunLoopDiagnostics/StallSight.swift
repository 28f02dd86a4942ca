// SPDX-License-Identifier: Apache-2.0
// The state of a loop that a stall watcher reads from another thread.

import CGRun
import CGRunDiagnostics
import GRunLoop

/// The callout that a loop executes, with its mode and its driver. Making this value allocates no memory, because the
/// stalled thread may hold the allocator's lock.
struct StallSight {
    let callout: GRunLoop.StallReport.Callout
    let mode: GRunLoop.Mode?
    let driver: GRunLoop.StallReport.Driver
    /// The number of GLib dispatches on the stack that the loop knows about. If the stack has more dispatches, a
    /// foreign loop runs inside the callout.
    let deepest: Int
    /// The loop's home context. Only a callback of this context can be a stall of the loop's host.
    let home: OpaquePointer?

    /// Returns whether a callback of the host has stalled, perhaps in a foreign loop that runs inside one of our
    /// callouts. `depth` is the number of GLib dispatches on the stack, or 0 if this number is not known.
    func isHosts(depth: Int) -> Bool { callout == .host || depth > deepest }

    /// The value for a loop whose lock another thread holds.
    static var unknown: Self { Self(callout: .unknown, mode: nil, driver: .loop, deepest: .max, home: nil) }
}

/// The stack of the stalled thread, and the GSource that GLib dispatches there.
struct StallSample {
    let stack: Stack
    /// The name of the GSource that GLib dispatches; nil if there is no dispatch, or if the GSource has no name.
    let source: String?
    /// How many GLib dispatches are on the thread's stack.
    let depth: Int

    init(_ sample: cgrun_sample) {
        var sample = sample
        let frames = withUnsafeBytes(of: &sample.frames) { Array($0.bindMemory(to: UInt.self)) }
        stack = Stack(Array(frames.prefix(Int(sample.frame_count))))
        let name = withUnsafeBytes(of: &sample.source) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        source = name.isEmpty ? nil : name
        depth = Int(sample.depth)
    }
}

extension GRunLoop {
    /// The callout that the loop executes, with its mode and driver. Read this property only while the loop is busy.
    var stallSightLocked: StallSight {
        guard let run = runSightLocked else {
            return StallSight(callout: .host, mode: nil, driver: .host, deepest: .max, home: homeContextLocked)
        }
        return StallSight(
            callout: .init(run.callout), mode: run.mode, driver: run.isHosted ? .host : .loop,
            deepest: run.depth + (run.callout.kind == .context ? 1 : 0), home: homeContextLocked)
    }
}

extension GRunLoop.StallReport.Callout {
    init(_ mark: CalloutMark) {
        switch mark.kind {
        case nil, .wakeUp: self = .unknown
        case .block: self = .block
        case .source: self = .source
        case .timer: self = .timer
        case .descriptor: self = .descriptor
        case .mainQueue: self = .mainQueue
        case .context: self = .context
        case .idleWork: self = .idleWork
        case .port: self = .port
        case .observer:
            // This code does not call `map`, because in a debug build the first call of a generic function allocates
            // memory for metadata.
            if let activity = mark.activity { self = .observer(activity) } else { self = .unknown }
        }
    }
}
