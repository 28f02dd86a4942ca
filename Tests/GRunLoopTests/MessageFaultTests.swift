// SPDX-License-Identifier: Apache-2.0
// The classes of system call errors: the code and the document must agree.

import Glibc
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

@Suite("Message ports: the table of errors") struct MessageFaultTests {
    /// The rows of docs/internals/message-errors.md that have a group: the errors by name (nil for all others) and
    /// their class.
    private func rows() throws -> [(group: String, errors: [Int32]?, kind: String)] {
        let path =
            #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
            + "/docs/internals/message-errors.md"
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var (rows, group, line) = (
            [(group: String, errors: [Int32]?, kind: String)](), "", [CChar](repeating: 0, count: 4096)
        )
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let cells = text.split(separator: "|", omittingEmptySubsequences: false).map { $0.split(separator: "`") }
            guard cells.count == 6, let kind = cells[4].dropFirst().first, kind != "class" else { continue }
            if cells[1].count > 1 { group = String(cells[1][1]) }
            guard MessageCall(rawValue: group) != nil else { continue }
            let names = cells[3].filter { $0.first == "E" }.map { String($0) }
            let isRest = cells[3].first?.contains("all others") == true
            rows.append((group, isRest ? nil : try names.map { try #require(Self.numbers[$0], "\($0)") }, String(kind)))
        }
        return rows
    }

    private static let numbers: [String: Int32] = {
        typealias Name = @convention(c) (Int32) -> UnsafePointer<CChar>?
        let name = unsafeBitCast(dlsym(nil, "strerrorname_np"), to: Name.self)
        let known = (1...133).compactMap { number in name(Int32(number)).map { (String(cString: $0), Int32(number)) } }
        return Dictionary(uniqueKeysWithValues: known)
    }()

    @Test("the table of errors in the documents matches the code, for each call and each error")
    func table() throws {
        let rows = try rows()
        #expect(Set(rows.map(\.group)) == Set(MessageCall.allCases.map(\.rawValue)))
        #expect(Set(rows.map(\.kind)).isSubset(of: MessageFault.allCases.map(\.rawValue)))
        let always: [Int32: String] = [
            EMFILE: "shortage", ENFILE: "shortage", ENOMEM: "shortage", ENOBUFS: "shortage", EFAULT: "defect",
            ENOTSOCK: "defect",
        ]
        for call in MessageCall.allCases {
            let mine = rows.filter { $0.group == call.rawValue }
            let rest = mine.first { $0.errors == nil }?.kind
            for error in 1...133 as ClosedRange<Int32> where error != EINTR {
                let named = mine.first { $0.errors?.contains(error) == true }?.kind
                let expected = named ?? always[error] ?? rest
                #expect(MessageFault.of(error, in: call).rawValue == expected, "\(call), error \(error)")
            }
        }
    }
}
