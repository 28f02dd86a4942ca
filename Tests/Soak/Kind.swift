// SPDX-License-Identifier: Apache-2.0
// The kinds of events that a loop delivers.

import GRunLoop

enum Kind: Int, CaseIterable, Sendable {
    case blockCommon, blockDefault, blockModes, perform, job, mainQueue, callback
    case signal, child, channel, source, timer, repeating, descriptor, observer, delayed, ordered, endHandler, idleWork,
        notification, port, message

    var title: String {
        switch self {
        case .blockCommon: "block for the common modes"
        case .blockDefault: "block for the default mode"
        case .blockModes: "block for two modes"
        case .perform: "perform"
        case .job: "job"
        case .mainQueue: "block of the main queue"
        case .callback: "callback of GLib's"
        case .signal: "signal source"
        case .child: "child source"
        case .channel: "element of a channel"
        case .port: "message of a port"
        case .message: "message of a message port"
        case .source: "source"
        case .timer: "timer"
        case .repeating: "repeating timer"
        case .descriptor: "descriptor source"
        case .observer: "observer"
        case .delayed: "delayed perform"
        case .ordered: "ordered perform"
        case .endHandler: "end handler"
        case .idleWork: "piece of idle work"
        case .notification: "notification"
        }
    }

    var isBlock: Bool { self == .blockCommon || self == .blockDefault || self == .blockModes }

    /// Whether a producer's events come in order. GLib callbacks do not: if a callback calls `g_main_context_pending()`
    /// or a similar function, GLib then continues in that call's list, behind its first source.
    var isOrdered: Bool { self != .callback }

    /// Whether the kind has its turn in time and before its loop's end. Work that comes before a sleep waits as long as
    /// anything else is ready.
    var isUrgent: Bool { self != .idleWork && self != .notification }

    /// The modes in which the kind may be called; nil means that the mode is not checked.
    var modes: Set<GRunLoop.Mode>? {
        switch self {
        case .blockCommon, .perform: [.default, .ambient]
        case .blockDefault: [.default]
        case .blockModes: [.default, .soak]
        default: nil
        }
    }
}

extension GRunLoop.Mode {
    /// A mode that is not common, and runs at times.
    static let soak: Self = "Soak"
    /// The ambient mode at times.
    static let ambient: Self = "SoakAmbient"
    /// A mode for nested runs that serve nothing else.
    static let inner: Self = "SoakInner"
}
