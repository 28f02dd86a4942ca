// SPDX-License-Identifier: Apache-2.0
// A service on the session bus that keeps notes: methods of an actor, a property, a signal and an error.
//
//   swift run --package-path Examples dbus-service &
//   swift run --package-path Examples dbus-client "buy milk"

import GRunLoop
import GRunLoopGIO
import Glibc

/// The notes. Each method begins in the order of the calls.
actor Notes {
    private var texts: [UInt32: String] = [:]
    private var last: UInt32 = 0
    private var exported: DBus.ExportedObject?

    var count: UInt32 { UInt32(texts.count) }

    /// Sets the object that sends the signals.
    func serve(_ exported: DBus.ExportedObject) { self.exported = exported }

    func add(_ text: String) throws -> UInt32 {
        last += 1
        texts[last] = text
        try exported?.emit("Added", last, text)
        try countHasChanged()
        return last
    }

    func text(of number: UInt32) throws -> String {
        guard let text = texts[number] else { throw noNote(number) }
        return text
    }

    func remove(_ number: UInt32) throws {
        guard texts.removeValue(forKey: number) != nil else { throw noNote(number) }
        try countHasChanged()
    }

    private func countHasChanged() throws { try exported?.propertiesChanged(["Count": Variant(count)]) }

    private func noNote(_ number: UInt32) -> GLibError {
        GLibError(dbusName: "org.example.Notes.Error.NoNote", "there is no note \(number)")
    }
}

@main @MainActor struct DBusService {
    static func main() async {
        GRunLoop.driveAsyncMain()
        do {
            try await serve()
            say("stopped")
        } catch {
            say("dbus-service: \(error)")
            exit(1)
        }
    }

    private static func serve() async throws {
        let bus = try await DBus.Connection.session()
        let notes = Notes()
        // Exported before the name is requested: the first call may come with the name.
        let exported = try bus.export(interface(of: notes), at: "/org/example/Notes")
        await notes.serve(exported)
        let name = try await bus.own("org.example.Notes", options: .doNotQueue)
        say("ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for try await _ in GRunLoop.main.signals([SIGTERM, SIGINT]) { return } }
            group.addTask { try await waitForTheEnd(of: bus) }
            try await group.next()
            group.cancelAll()
        }
        name.release()
        try await bus.close()
    }

    /// Throws the error that has ended the connection.
    private static func waitForTheEnd(of bus: DBus.Connection) async throws {
        if let error = try await bus.untilClosed() { throw error }
    }

    private static func interface(of notes: Notes) -> DBus.Interface {
        var interface = DBus.Interface("org.example.Notes")
        interface.method("Add", arguments: ["text"], results: ["number"]) { (text: String) in
            try await notes.add(text)
        }
        interface.method("Get", arguments: ["number"], results: ["text"]) { (number: UInt32) in
            try await notes.text(of: number)
        }
        interface.method("Remove", arguments: ["number"]) { (number: UInt32) in try await notes.remove(number) }
        interface.property("Count") { await notes.count }
        interface.signal("Added", UInt32.self, String.self, arguments: ["number", "text"])
        return interface
    }
}

/// Written immediately: print() would keep the lines until the end if the output is a file.
private func say(_ text: String) {
    print(text)
    fflush(nil)
}
