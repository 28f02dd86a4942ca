// SPDX-License-Identifier: Apache-2.0
// The kinds of hostile peers.

import CWire

/// 50 connections to a port, by peers that send all that they can.
enum Visitor: String, CaseIterable {
    /// They say nothing.
    case silent
    /// Small messages without end.
    case chatter
    /// One sealed file of 1 GiB in each message.
    case memory
    /// One sealed file of 1 MiB in each message, which the handler reads.
    case readMemory = "memory that is read"
    /// One sealed file of 100,000 bytes in each message, which the handler keeps.
    case keptMemory = "memory that is kept"
    /// One sealed file of 1 MiB without its last page in each message, which the handler reads.
    case readHole = "hole that is read"
    /// A file of 1 GiB without a page.
    case sparse
    /// A file of 1 GiB without its last page.
    case hole = "one page missing"
    /// Requests with replies of 512 KiB, which they never read.
    case deaf
    /// The same, and each connection is that of a process of its own.
    case deafProcesses = "deaf processes"
    /// The same by one process, which reads one reply of each connection in 100 ms.
    case slowReader = "slow reader"
    /// Requests whose reply is pending, each by a connection that is closed directly after it.
    case shortVisit = "short visit"
    /// Packets of every kind that are not sound.
    case garbage
    /// 16 descriptors at each message.
    case descriptors
    /// More descriptors at each message than one may have.
    case tooManyDescriptors = "too many descriptors"
    /// Messages whose handler makes a request in the mode that its port is in.
    case nesting

    /// The memory that the peers themselves make, in bytes.
    var ownMemory: Int {
        switch self {
        case .memory, .hole: Size.gibibyte
        case .readMemory, .readHole: Size.mebibyte
        default: 0
        }
    }
}

/// 50 services that do not reply to a client that waits.
enum FalseService: String, CaseIterable {
    /// It says nothing.
    case mute
    /// Small replies to other requests.
    case late = "late reply"
    /// Replies to other requests, each with one sealed file of 1 GiB.
    case lateMemory = "late memory"
    /// Replies to other requests, with a file of 1 GiB without its last page.
    case lateHole = "late, one page missing"
    /// Replies to other requests, with 16 descriptors.
    case lateDescriptors = "late descriptors"

    var ownMemory: Int {
        switch self {
        case .lateMemory, .lateHole: Size.gibibyte
        case .mute, .late, .lateDescriptors: 0
        }
    }
}

enum Size {
    static let mebibyte = 1 << 20
    static let gibibyte = 1 << 30
}

/// How many hostile connections there are.
let crowd = 50

/// The action of the served port, by the message's id.
enum Request: Int32 {
    /// It replies with the same data.
    case echo
    /// It replies with 512 KiB.
    case large
    /// It keeps the reply for good.
    case keep
    /// It makes a request of its own in the port's mode.
    case nest
    /// It keeps the message for good.
    case hold
    /// It reads the data and does not reply.
    case read
    /// It replies with how deep its calls were nested.
    case depth
}
