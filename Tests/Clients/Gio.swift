// SPDX-License-Identifier: Apache-2.0
// A client of GRunLoopGIO, as scripts/clients compiles it in both language modes, beside Foundation.

import CGRunGIO
import Foundation
import GRunLoop
import GRunLoopGIO

@main struct Gio {
    @MainActor static func main() async throws {
        GRunLoop.driveAsyncMain()
        try await call()
        try await files()
        try await processes()
        try await messages()
    }

    @MainActor private static func call() async throws {
        let number = try await GIO.call { cancellable, done, data in
            let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
            g_task_return_int(task, 7)
            g_object_unref(UnsafeMutableRawPointer(task))
        } finish: { _, result, error in
            g_task_propagate_int(result, error)
        }
        precondition(number == 7)
        let task = Task { @MainActor in
            try await GIO.call { cancellable, done, data in
                let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
                withUnsafeCurrentTask { $0?.cancel() }
                g_task_return_boolean(task, 1)
                g_object_unref(UnsafeMutableRawPointer(task))
            } finish: { _, result, error in
                _ = g_task_propagate_boolean(result, error)
            }
        }
        do { try await task.value } catch is CancellationError { return }
        preconditionFailure("the call was not cancelled")
    }

    @MainActor private static func files() async throws {
        let folder = try GIO.File(path: FileManager.default.temporaryDirectory.path)
        let file = try folder.child("grun-client-\(getpid())")
        var changes = file.changes.makeAsyncIterator()
        try await file.replaceContents("one\ntwo\n")
        let change = try await changes.next()
        precondition(change?.file == file)
        var lines: [String] = []
        for try await line in try await file.read().lines { lines.append(line) }
        precondition(lines == ["one", "two"])
        var names: [String] = []
        for try await info in folder.children() { names.append(info.file.basename) }
        let copy = try folder.child(file.basename + ".copy")
        var reported: Int64 = 0
        try await file.copy(to: copy) { reported = $0.completed }
        precondition(names.contains(file.basename) && reported == 8)
        let text = try await copy.text()
        precondition(text == "one\ntwo\n")
        try await copy.delete()
        try await file.delete()
        do {
            _ = try await file.contents()
            preconditionFailure("a deleted file has contents")
        } catch G_IO_ERROR_NOT_FOUND {}
    }

    @MainActor private static func processes() async throws {
        let outcome = try await GIO.run(["echo", "hello"])
        precondition(outcome.status.isSuccess && outcome.output == "hello\n")
        let process = try GIO.Subprocess(["cat"], input: .pipe, output: .pipe)
        let output = try await process.communicateText(input: "text").output
        precondition(output == "text")
    }

    @MainActor private static func messages() async throws {
        var ends: [Int32] = [-1, -1]
        precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (one, other) = (ends[0], ends[1])
        let accepted = Task { @MainActor in try await connect(one, isServer: true) }
        let client = try await connect(other, isServer: false)
        let server = try await accepted.value
        var interface = DBus.Interface("org.example.Client")
        interface.method("Double") { (number: Int32) in number * 2 }
        interface.property("Count") { UInt32(3) }
        interface.signal("Changed", String.self)
        let exported = try server.export(interface, at: "/client")
        let doubled = try await client.call(
            nil, "/client", "org.example.Client", "Double", Int32(21), returning: Int32.self)
        let proxy = try await client.proxy(nil, "/client", "org.example.Client")
        let count = try proxy.cached("Count", as: UInt32.self)
        precondition(doubled == 42 && count == 3)
        let signals = try proxy.signals("Changed")
        try exported.emit("Changed", "name")
        for try await signal in signals {
            let name = try signal.arguments(as: String.self)
            precondition(name == "name")
            break
        }
        try await client.close()
    }

    @MainActor private static func connect(_ descriptor: Int32, isServer: Bool) async throws -> DBus.Connection {
        let socket = try GLibError.check { g_socket_new_from_fd(descriptor, $0) }
        let stream = g_socket_connection_factory_create_connection(socket)
        g_object_unref(socket)
        defer { g_object_unref(stream) }
        return try await .peer(over: UnsafeMutablePointer(OpaquePointer(stream.unsafelyUnwrapped)), isServer: isServer)
    }
}
