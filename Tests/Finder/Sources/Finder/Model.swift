// SPDX-License-Identifier: Apache-2.0
// The model: a list of names, which is loaded from a file, searched as the user types, and saved from time to time.

import AsyncAlgorithms
import CGtk
import GRunLoop

public struct LoadError: Error, Equatable {
    public let message: String
}

@MainActor public final class Model {
    public private(set) var names: [String] = []
    public private(set) var matches: [String] = []
    public private(set) var searches: [String] = []
    public private(set) var saves = 0
    public private(set) var attempts = 0

    private var search: GRunLoop.DelayedPerform?
    private var autosave: GRunLoop.Timer?

    public init(names: [String] = []) { self.names = names }

    // MARK: Search

    /// Searches 300 ms after the last key.
    public func textChanged(to text: String) {
        if !Fault.everySearch.isPlanted { search?.cancel() }
        let delay = Duration.milliseconds(Fault.slowSearch.isPlanted ? 3000 : 300)
        search = GRunLoop.main.perform(after: delay) { @MainActor in self.find(text) }
    }

    /// Cancels the search that waits for a pause.
    public func endSearch() { search?.cancel() }

    private func find(_ text: String) {
        searches.append(text)
        matches = names.filter { $0.contains(text) }
    }

    /// Searches for each text of the stream, after a debounce of swift-async-algorithms.
    public func search(_ typed: AsyncStream<String>) async {
        for await text in typed.debounce(for: .milliseconds(300), clock: GRunLoop.main.clock) { find(text) }
    }

    // MARK: Autosave

    public func beginAutosave() {
        let timer = GRunLoop.Timer(interval: .seconds(60), repeats: true) { @MainActor [weak self] _ in
            self?.saves += 1
        }
        autosave = timer
        GRunLoop.main.add(timer, forMode: Fault.deadAutosave.isPlanted ? "nobody runs this" : .common)
    }

    public func endAutosave() {
        if !Fault.leakedTimer.isPlanted { autosave?.invalidate() }
        autosave = nil
    }

    // MARK: Files

    /// Loads the names from a file, a name each line.
    public func load(from path: String) async throws(LoadError) {
        // Blocks without a sleep, because the signal of the stall monitor would end a sleep.
        let end = ContinuousClock.now.advanced(by: .milliseconds(Fault.blockedLoop.isPlanted ? 400 : 0))
        while ContinuousClock.now < end {}
        precondition(!Fault.crash.isPlanted, "the planted crash")
        let (text, error) = await contents(ofFileAt: path)
        if let error, !Fault.lostError.isPlanted { throw LoadError(message: error) }
        names = text.split(separator: "\n").map(String.init)
    }

    /// Loads a file, and tries again after 1, 2 and 4 seconds.
    public func loadPatiently(from path: String) async throws {
        for delay in [1, 2, 4] {
            attempts += 1
            if (try? await load(from: path)) != nil { return }
            if !Fault.noBackoff.isPlanted { try await GRunLoop.main.sleep(for: .seconds(delay)) }
        }
        attempts += 1
        try await load(from: path)
    }
}

private final class Continuation {
    let continuation: CheckedContinuation<(String, String?), Never>
    init(_ continuation: CheckedContinuation<(String, String?), Never>) { self.continuation = continuation }
}

/// Reads a file by GIO, which calls back on the main thread.
@MainActor private func contents(ofFileAt path: String) async -> (String, String?) {
    await withCheckedContinuation { continuation in
        let file = g_file_new_for_path(path)
        g_file_load_contents_async(
            file, nil,
            { file, result, data in
                var (bytes, length): (UnsafeMutablePointer<CChar>?, gsize) = (nil, 0)
                var error: UnsafeMutablePointer<GError>?
                guard let data, let file else { return }
                let isLoaded = g_file_load_contents_finish(OpaquePointer(file), result, &bytes, &length, nil, &error)
                let text = bytes.map { String(cString: $0) } ?? ""
                let message = error.map { String(cString: $0.pointee.message) }
                g_free(bytes)
                g_clear_error(&error)
                Unmanaged<Continuation>.fromOpaque(data).takeRetainedValue().continuation
                    .resume(returning: (text, isLoaded != 0 ? nil : message ?? "unknown"))
            }, Unmanaged.passRetained(Continuation(continuation)).toOpaque())
        g_object_unref(UnsafeMutableRawPointer(file))
    }
}
