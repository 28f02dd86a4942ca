// SPDX-License-Identifier: Apache-2.0
// The kinds of what a loop delivers.

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

    /// Whether those of a producer come in its order. Callbacks of GLib's do not where one of them runs a loop that
    /// only looks, as `g_main_context_pending()` does: GLib goes on in the list of that look, behind its first.
    var isOrdered: Bool { self != .callback }

    /// Whether it has its turn in time, and before its loop's end: what comes before a sleep waits as long as anything
    /// else is ready.
    var isUrgent: Bool { self != .idleWork && self != .notification }

    /// The modes in which it may be called; nil: not looked at.
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
    /// One that is not common, and is run now and then.
    static let soak: Self = "Soak"
    /// The ambient one, from time to time.
    static let ambient: Self = "SoakAmbient"
    /// For nested runs in which nothing else may happen.
    static let inner: Self = "SoakInner"
}
