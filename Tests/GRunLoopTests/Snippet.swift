// SPDX-License-Identifier: Apache-2.0
// Facts about code that must or must not compile: a snippet is type-checked against the built module.

import Glibc
import TestSupport

/// A piece of Swift that imports GRunLoop.
struct Snippet {
    private let source: String

    init(_ source: String) {
        self.source = "import GRunLoop\n" + source + "\n"
    }

    /// Returns the compiler's errors.
    func problems() throws -> [String] {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? P_tmpdir
        let file = folder + "/grun-snippet-\(getpid())-\(threadID).swift"
        defer { unlink(file) }
        try write(to: file)
        let binaries = directoryOfExecutable()
        let package = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        var arguments = ["-typecheck", "-swift-version", "6", "-I", binaries + "/Modules", file]
        for folder in ["Sources/CGRun/include", "Sources/CGLib"] { arguments += ["-I", "\(package)/\(folder)"] }
        let flags = try output(of: "pkg-config", ["--cflags", "gio-unix-2.0"])
        for flag in flags.split(whereSeparator: \.isWhitespace) { arguments += ["-Xcc", String(flag)] }
        let text = try output(of: "swiftc", arguments)
        return text.split(separator: "\n").map(String.init).filter { $0.contains("error:") }
    }

    func mentions(_ text: String) throws -> Bool {
        try problems().contains { $0.contains(text) }
    }

    private func write(to path: String) throws {
        guard let file = fopen(path, "w") else { throw Failure(what: "\(path) cannot be written") }
        fputs(source, file)
        fclose(file)
    }

    private func output(of program: String, _ arguments: [String]) throws -> String {
        let command = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ") + " 2>&1"
        guard let stream = popen(command, "r") else { throw Failure(what: "\(program) cannot be started") }
        defer { pclose(stream) }
        var text = ""
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), stream) != nil {
            text += String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return text
    }

    struct Failure: Error {
        let what: String
    }
}
