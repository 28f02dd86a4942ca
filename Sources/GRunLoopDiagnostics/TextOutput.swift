// SPDX-License-Identifier: Apache-2.0
// A writer of JSON text, and an output file that is written completely or not at all.

import GRunLoop
import Glibc
import Synchronization

/// A JSON text as bytes. The text can be embedded in a script of an HTML page, because the characters `<`, `>` and `&`
/// in strings are escaped.
struct JSONText {
    private(set) var bytes: [UInt8] = []

    mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    mutating func number(_ value: some BinaryInteger) { bytes.append(contentsOf: String(value).utf8) }

    /// Appends a string with its quotation marks, or `null` if `text` is nil.
    mutating func string(_ text: String?) {
        guard let text else { return raw("null") }
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(scalar.value))
            case "<", ">", "&", "\u{7f}", "\u{2028}", "\u{2029}", "\0"..."\u{1f}": escape(scalar.value)
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ value: UInt32) {
        let digits = String(value, radix: 16)
        raw("\\u")
        bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
        bytes.append(contentsOf: digits.utf8)
    }

    /// Appends nanoseconds as microseconds, as in 1234.567. A negative span becomes 0.
    mutating func microseconds(_ span: Nanoseconds) {
        let span = max(0, span)
        number(span / 1000)
        let rest = String(span % 1000)
        raw(".")
        bytes.append(contentsOf: String(repeating: "0", count: 3 - rest.count).utf8)
        bytes.append(contentsOf: rest.utf8)
    }

    mutating func list<Elements: Sequence>(_ elements: Elements, _ body: (inout JSONText, Elements.Element) -> Void) {
        raw("[")
        var isFirst = true
        for element in elements {
            if !isFirst { raw(",\n") }
            isFirst = false
            body(&self, element)
        }
        raw("]")
    }
}

struct OutputFile {
    /// The bytes of the path, including the NUL. The type is not `String`, because a path from C or from the
    /// environment is not always UTF-8.
    private let path: [CChar]

    init(_ path: UnsafePointer<CChar>) { self.path = Array(UnsafeBufferPointer(start: path, count: strlen(path) + 1)) }

    /// The path as text, for messages.
    var name: String { path.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) } }

    /// Writes the file, and returns 0 or an error number. After an error, an existing file is unchanged. A device or a
    /// pipe is written to directly. If the path is a symbolic link, the link's target is replaced. If this target does
    /// not exist, the link itself is replaced. The new file gets the mode of the file that it replaces. If another user
    /// planted the entry (`isPlanted`), the error is `EACCES`.
    func write(_ parts: [UnsafeRawBufferPointer]) -> Int32 {
        guard path.count > 1 else { return ENOENT }
        var entry = stat()
        // No file has this name yet. If another user plants a link with this name now, the rename replaces the link and
        // does not follow it.
        guard lstat(path, &entry) == 0 else { return replace(path, parts, mode: nil) }
        if isPlanted(entry) { return EACCES }
        var status = stat()
        guard stat(path, &status) == 0 else { return replace(path, parts, mode: nil) }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            guard let known = realpath(path, nil) else { return errno }
            defer { free(known) }
            return replace(OutputFile(known).path, parts, mode: status.st_mode & 0o777)
        case S_IFDIR: return EISDIR
        default: return Self.write(parts, path, O_WRONLY | O_CLOEXEC)
        }
    }

    /// Returns whether another user has put this entry into a sticky folder such as `/tmp`, to which several users can
    /// write. A planted link could make the process overwrite one of its own files, and a planted pipe could block the
    /// process. The kernel refuses planted links only with `fs.protected_symlinks`. An entry that belongs to this user
    /// is safe, because no other user can replace it in a sticky folder.
    private func isPlanted(_ entry: stat) -> Bool {
        var place = stat()
        // Append a dot to the folder's path, because the folder's path is empty if the file's path has no slash.
        guard stat(folder + [CChar(UInt8(ascii: ".")), 0], &place) == 0 else { return false }
        return place.st_mode & S_ISVTX != 0 && place.st_mode & 0o022 != 0
            && entry.st_uid != geteuid() && entry.st_uid != place.st_uid
    }

    /// The folder of the path, with the slash at its end; empty if the path has no slash.
    private var folder: [CChar] {
        Array(path[..<(path.lastIndex(of: CChar(UInt8(ascii: "/"))).map { $0 + 1 } ?? 0)])
    }

    private static let count = Atomic(0)

    /// Writes a temporary file in the folder of `path`, and renames this file to `path`. Only the owner may write to a
    /// new file: if a daemon has a umask of 0, everybody could otherwise write to its file in `/tmp`.
    private func replace(_ path: [CChar], _ parts: [UnsafeRawBufferPointer], mode: mode_t?) -> Int32 {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        let temporary = OutputFile(path).folder + Array(".grun-\(getpid())-\(number).part".utf8CString)
        var error = Self.write(parts, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode: mode)
        // A file with the temporary name exists: an earlier process with the same id was killed and left this file
        // behind. Try the next name.
        if error == EEXIST { return number % 64 == 0 ? error : replace(path, parts, mode: mode) }
        if error == 0, rename(temporary, path) != 0 { error = errno }
        if error != 0 { unlink(temporary) }
        return error
    }

    private static func write(
        _ parts: [UnsafeRawBufferPointer], _ path: [CChar], _ flags: Int32, mode: mode_t? = nil
    ) -> Int32 {
        let descriptor = open(path, flags, 0o644)
        guard descriptor >= 0 else { return errno }
        // Set the mode before the first byte is written, so that a user without permission can never read the file.
        var error = mode.map { fchmod(descriptor, $0) == 0 ? 0 : errno } ?? 0
        for part in parts where error == 0 { error = writeAll(part, to: descriptor) }
        // Some file systems report only at close() that the disk is full.
        if close(descriptor) != 0, error == 0, errno != EINTR { error = errno }
        return error
    }

    private static func writeAll(_ part: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = part[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno != EINTR { return errno }
            if count > 0 { rest = rest.dropFirst(count) }
        }
        return 0
    }
}
