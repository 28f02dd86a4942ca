// SPDX-License-Identifier: Apache-2.0
// The standard input, output and error of a process.

import CGRunGIO
import Glibc

extension GIO.Subprocess {
    /// The source of a process's standard input, or the destination of its standard output.
    public enum Redirection: Hashable, Sendable {
        /// `/dev/null`: the input is empty, and the output is dropped.
        case null
        /// The standard input or output of this process.
        case inherit
        /// A pipe, whose other end is a stream of the ``GIO/Subprocess``.
        case pipe
        /// A copy of an open descriptor. The caller keeps the descriptor, and closes it.
        case descriptor(Int32)
        /// A file, opened as with `<` and `>` in a shell: an output file is created or emptied. A relative path begins
        /// at the working directory of this process. Opening a named pipe blocks the thread until its other end is
        /// open.
        case file(String)
    }

    /// The destination of a process's standard error.
    public enum ErrorRedirection: Hashable, Sendable {
        /// `/dev/null`: the text is dropped.
        case null
        /// The standard error of this process.
        case inherit
        /// A pipe, whose other end is ``GIO/Subprocess/error``.
        case pipe
        /// A copy of an open descriptor. The caller keeps the descriptor, and closes it.
        case descriptor(Int32)
        /// A file, opened as with `2>` in a shell: the file is created or emptied.
        case file(String)
        /// The destination of the standard output, as with `2>&1` in a shell.
        case output
    }
}

extension GIO.Subprocess.ErrorRedirection {
    /// The redirection of the standard error; nil if it uses the destination of the standard output.
    var redirection: GIO.Subprocess.Redirection? {
        switch self {
        case .null: .null
        case .inherit: .inherit
        case .pipe: .pipe
        case .descriptor(let descriptor): .descriptor(descriptor)
        case .file(let path): .file(path)
        case .output: nil
        }
    }
}

extension GIO.Subprocess.Redirection {
    /// Opens a descriptor for the process. Returns nil if a GLib flag expresses the redirection. Files are opened here,
    /// because GLib would open an output file without emptying it.
    func open(_ flags: Int32) throws(GLibError) -> Int32? {
        let (descriptor, name): (Int32, String)
        switch self {
        case .null, .inherit, .pipe: return nil
        case .descriptor(let original):
            (descriptor, name) = (fcntl(original, F_DUPFD_CLOEXEC, 3), "descriptor \(original)")
        case .file(let path):
            var opened = Glibc.open(try withoutNUL(path), flags | O_CLOEXEC, 0o666)
            // If this process has closed a standard descriptor, open() may return that number, which GLib does not
            // expect.
            if (0..<3).contains(opened) {
                let low = opened
                opened = fcntl(low, F_DUPFD_CLOEXEC, 3)
                close(low)
            }
            (descriptor, name) = (opened, path)
        }
        let error = errno
        guard descriptor >= 0 else {
            throw GLibError(g_io_error_from_errno(error), "\(name): \(String(cString: g_strerror(error)))")
        }
        return descriptor
    }
}
