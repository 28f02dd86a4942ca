// SPDX-License-Identifier: Apache-2.0
// A kind of operation that the storms start and cancel.

/// One kind of operation, with all that its operations share.
struct Kind: Sendable {
    let name: String
    /// How many operations one storm has.
    let count: Int
    /// Whether operations wait for an event that may never come.
    var isEndless = false
    /// Does the operation with this number.
    let run: @Sendable (isolated Sea, Int) async throws -> Void
    /// Called before each storm.
    var prepare: @Sendable () -> Void = {}
    /// Called for each 50 operations, so that some of them get their event.
    var stir: @Sendable () throws -> Void = {}
    /// Called when all operations have begun.
    var finish: @Sendable () throws -> Void = {}
    /// Returns in words what is left of the operations; nil if nothing is left.
    var leftovers: @Sendable () -> String? = { nil }
    /// Releases what the operations share.
    var close: @Sendable (isolated Sea) async throws -> Void = { _ in }
}

/// Makes a kind.
struct KindMaker: Sendable {
    struct Setting: Sendable {
        /// Where the operations begin, and where the services of the operations are.
        let sea, port: Sea
        let folder: Folder
        let count: Int
    }

    let name: String
    let make: @Sendable (Setting) async throws -> Kind

    static let all = calls + streams + files + processes + messages
}
