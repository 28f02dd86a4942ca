// SPDX-License-Identifier: Apache-2.0
// The protocol of models, and how a model reports a wrong container.

import Glibc

/// A container of the library, and plain arrays and dictionaries that record what the container must hold.
protocol Model: AnyObject, SendableMetatype {
    /// The container's name on the command line.
    static var name: String { get }
    /// How many operations one program has. A new program begins with an empty container.
    static var length: Int { get }

    /// Draws what the program starts with: capacities, and counters that are near their maximum.
    init(_ random: inout Random)
    /// Makes one random operation, and compares the container with the model.
    func step(_ random: inout Random) throws
    /// Empties the container, and compares the removed elements. Nothing may be left.
    func finish() throws
}

extension Model {
    static var length: Int { 300 }
}

/// The models of one thread, in the order in which they run.
let models: [any Model.Type] = [
    BlockQueueModel.self, TimerHeapModel.self, TimerSlotsModel.self, SignalledSourcesModel.self,
    DescriptorSetModel.self, TurnListModel.self, PlacesModel.self, CommonItemsModel.self, ChannelPiecesModel.self,
    ChannelSendersModel.self, JobQueueModel.self, PerformQueueModel.self, CancellablesModel.self,
    EndHandlersModel.self, NotificationLinesModel.self, NotificationCoreModel.self, MessageExchangesModel.self,
    KeptModel.self, RingModel.self, AcquiredContextsModel.self, CarriedContextsModel.self,
]

/// The models of containers that several threads use.
let threadedModels: [any Model.Type] = [
    RingThreads.self, ChannelSendersThreads.self, JobQueueThreads.self, PerformQueueThreads.self,
    NotificationCoreThreads.self,
]

/// The container and its model disagree.
struct Mismatch: Error {
    let text: String
}

func expect(
    _ condition: Bool, _ text: @autoclosure () -> String, file: StaticString = #fileID, line: Int = #line
) throws {
    if !condition { throw Mismatch(text: "\(file):\(line): \(text())") }
}

func expect<Value: Equatable>(
    _ found: Value, is wanted: Value, _ what: @autoclosure () -> String, file: StaticString = #fileID,
    line: Int = #line
) throws {
    if found != wanted { throw Mismatch(text: "\(file):\(line): \(what()): found \(found), expected \(wanted)") }
}

/// Prints a line without buffering, so that it survives a crash.
func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

/// Prints the operations of a program that is replayed.
enum Journal {
    nonisolated(unsafe) static var isOpen = false

    static func note(_ text: @autoclosure () -> String) {
        if isOpen { say("    \(text())") }
    }
}

/// Counts its instances, so that a model notices what a container leaks or releases too early.
final class Counted: @unchecked Sendable {
    nonisolated(unsafe) static var count = 0
    let number: Int

    init(_ number: Int) {
        self.number = number
        Counted.count += 1
    }

    deinit { Counted.count -= 1 }
}

/// A value that closures of one thread share.
final class Shared<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}
