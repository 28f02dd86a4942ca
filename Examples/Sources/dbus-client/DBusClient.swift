// SPDX-License-Identifier: Apache-2.0
// A client of dbus-service. With texts, it adds notes, reads them, and removes them. Without texts, it prints what the
// service reports, until the service ends.

import GRunLoop
import GRunLoopGIO
import Glibc

@main @MainActor struct DBusClient {
    static func main() async {
        GRunLoop.driveAsyncMain()
        do {
            let client = DBusClient(bus: try await DBus.Connection.session())
            let texts = CommandLine.arguments.dropFirst()
            if texts.isEmpty { try await client.watch() } else { try await client.add(Array(texts)) }
        } catch {
            say("dbus-client: \(error)")
            exit(1)
        }
    }

    private let bus: DBus.Connection

    private func notes() async throws -> DBus.Proxy {
        try await bus.proxy("org.example.Notes", "/org/example/Notes", "org.example.Notes")
    }

    private func add(_ texts: [String]) async throws {
        let notes = try await notes()
        var numbers: [UInt32] = []
        for text in texts { numbers.append(try await notes.call("Add", text, returning: UInt32.self)) }
        for number in numbers {
            say("note \(number): \(try await notes.call("Get", number, returning: String.self))")
        }
        say("\(try await notes.get("Count", as: UInt32.self)) notes")
        for number in numbers { try await notes.call("Remove", number) }
        do {
            _ = try await notes.call("Get", numbers[0], returning: String.self)
        } catch let error as GLibError where error.dbusName == "org.example.Notes.Error.NoNote" {
            say("removed: \(error.message)")
        }
    }

    private func watch() async throws {
        var service: Task<Void, Never>?
        for try await owner in try await bus.watch("org.example.Notes") {
            if owner != nil {
                say("the service has started")
                service = Task {
                    do { try await report() } catch is CancellationError {} catch { say("dbus-client: \(error)") }
                }
            } else if let ended = service.take() {
                ended.cancel()
                return say("the service has ended")
            } else {
                say("waiting for the service")
            }
        }
    }

    /// Prints changes and signals until the task is cancelled.
    private func report() async throws {
        let notes = try await notes()
        // The sequences begin here, so no change is missed.
        let (changes, added) = (notes.changes, try notes.signals("Added"))
        say("\(try notes.cached("Count", as: UInt32.self) ?? 0) notes")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in changes {
                    if let count: UInt32 = try change.changed["Count"]?.value() { await say("\(count) notes") }
                }
            }
            group.addTask {
                for try await signal in added {
                    let (number, text) = try signal.arguments(as: UInt32.self, String.self)
                    await say("added note \(number): \(text)")
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Written immediately: print() would keep the lines until the end if the output is a file.
@MainActor private func say(_ text: String) {
    print(text)
    fflush(nil)
}
