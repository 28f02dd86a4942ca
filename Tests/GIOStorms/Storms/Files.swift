// SPDX-License-Identifier: Apache-2.0
// Storms of files: contents, changes, the children of a folder, and copies.

import GRunLoopGIO
import Glibc

extension KindMaker {
    static let files = [
        KindMaker(name: "file contents") { setting in
            setting.folder.append(100_000, to: "contents")
            return Kind(name: "file contents", count: setting.count) { _, _ in
                let bytes = try await setting.folder.file("contents").contents()
                if bytes.count != 100_000 { throw Finding("\(bytes.count) bytes") }
            }
        },
        KindMaker(name: "file changes") { setting in
            Kind(
                name: "file changes", count: setting.count, isEndless: true,
                run: { _, number in
                    var changes = try setting.folder.file("changes").changes.makeAsyncIterator()
                    for _ in 0...(number % 3) {
                        // Nil if the task is cancelled.
                        if try await changes.next() == nil { throw CancellationError() }
                    }
                },
                stir: { setting.folder.append(1, to: "changes") })
        },
        KindMaker(name: "children") { setting in
            let folder = try setting.folder.folder("children")
            // GLib passes 100 in one piece.
            for number in 0..<250 { folder.append(1, to: "\(number)") }
            return Kind(name: "children", count: setting.count) { _, number in
                var count = 0
                for try await _ in try setting.folder.file("children").children() {
                    count += 1
                    if number.isMultiple(of: 5), count == 120 { return }
                }
                if count != 250 { throw Finding("\(count) children") }
            }
        },
        KindMaker(name: "copy") { setting in
            setting.folder.append(1, to: "sparse")
            truncate("\(setting.folder.path)/sparse", 1 << 22)
            let copies = try setting.folder.folder("copies")
            return Kind(
                name: "copy", count: setting.count,
                run: { _, number in
                    defer { copies.delete("\(number)") }
                    let copy = try copies.file("\(number)")
                    let source = try setting.folder.file("sparse")
                    guard number.isMultiple(of: 2) else { return try await source.copy(to: copy) }
                    try await source.copy(to: copy) { _ in }
                },
                leftovers: { copies.names.first.map { "the copy \($0) is left" } })
        },
    ]
}
