// SPDX-License-Identifier: Apache-2.0
// The public timeline, which records all loops of the process and writes a picture.

import CGRun
import CGRunDiagnostics
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Records what all loops of the process do, and writes a picture of it.
    ///
    /// The picture shows what was called, when and for how long, and how late timers were. It shows when a loop slept
    /// and which thread woke it, the modes and nested runs, and the host's own work.
    ///
    /// ```swift
    /// let timeline = GRunLoop.Timeline()
    /// timeline.start()
    /// // …
    /// try timeline.write(to: "run.html", as: .html)
    /// ```
    ///
    /// A loop is recorded from the next thing that it does. For each loop, the last records are kept, up to the
    /// limit. The picture says how many came before them. A timeline does not keep items alive. A record costs
    /// about 40 ns. It costs more when an item is called for the first time, and when the memory for records grows.
    /// While nothing is recorded, a loop costs the same as without a timeline.
    ///
    /// Set the environment variable `GRUN_TIMELINE`, as in `GRUN_TIMELINE=run.html ./program`, to record the process
    /// from its first loop on. The picture is written when the process exits by `exit()` or at the end of its main
    /// function. It is not written after a signal, `_exit()` or a crash. `%p` in the name stands for the number of the
    /// process. If the name ends in `.json`, the picture is written as ``Format/chromeJSON``. If the program starts a
    /// timeline of its own, this one ends, and its picture shows nothing that comes later.
    ///
    /// The picture does not show who ends a sleep by a descriptor or from libdispatch. It does not show GLib's
    /// dispatches individually: under a host, everything that is not the loop's is shown as the host's.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Apple's Instruments shows similar pictures.
    public final class Timeline: Sendable {
        /// The formats of a picture.
        public enum Format: Hashable, Sendable {
            /// An HTML page that any browser shows, without a network.
            case html
            /// Trace events, for Perfetto and Chrome's viewer.
            case chromeJSON

            /// Chooses the format by a file's name: trace events if the name ends in `.json`, in small letters or
            /// capitals, otherwise a page.
            ///
            /// Threads: any.
            public init(fileName: String) {
                self = fileName.lowercased().hasSuffix(".json") ? .chromeJSON : .html
            }
        }

        private let recording: Recording

        /// The timeline of `GRUN_TIMELINE` and of programs in C.
        static let ofProcess = Timeline()

        /// Makes a timeline without records.
        ///
        /// - Parameter limit: how many records of each loop are kept, each time that the timeline is started. It is
        ///   rounded up to a power of two, 256 at least and 16,777,216 at most. A record takes 24 bytes. A pass makes
        ///   some ten records; each callout is one of them.
        ///
        /// Threads: any.
        public init(limit: Int = 65_536) {
            var size: UInt32 = 256
            while size < 1 << 24, Int(size) < limit { size *= 2 }
            recording = Recording(limit: size)
        }

        /// The recording ends with the last reference to the timeline, and its records are lost.
        deinit { stop() }

        /// Records all loops from now on. Only one timeline records at a time, so another one ends. Does nothing if
        /// this timeline records already.
        ///
        /// Threads: any.
        public func start() {
            guard !Fork.refuses("Timeline.start") else { return }
            recording.start()
        }

        /// Ends what ``start()`` began. The records stay. If the timeline is started again, it goes on, with new lanes
        /// in the picture. Does nothing if the timeline does not record.
        ///
        /// Threads: any. A loop's thread may write one more record.
        public func stop() {
            guard !Fork.isChild else { return }
            recording.stop()
        }

        /// Whether the timeline records. False in a forked child.
        ///
        /// Threads: any.
        public var isRecording: Bool { !Fork.isChild && recording.isUnderWay }

        /// Writes a picture of what was recorded so far. Records that are made meanwhile are not in the picture. It may
        /// be called again.
        ///
        /// - Parameters:
        ///   - path: the file, which is replaced once the new one is complete. If it is a link, the file that the link
        ///     leads to is replaced. A device or a pipe is written to directly. As with any `write()`, a pipe without a
        ///     reader ends the process by `SIGPIPE`, or lets the call wait. A new file has the mode 0644 without the
        ///     bits of the umask. In a sticky folder such as `/tmp`, a file, a link or a pipe of another user is not
        ///     touched: the error is `EACCES`.
        ///   - format: the format of the picture.
        /// - Throws: ``SystemError``, if the file cannot be made or written, or in a forked child. A file that had its
        ///   name before is unchanged.
        ///
        /// Threads: any. The time depends on the number of records: some milliseconds for each thousand.
        public func write(to path: String, as format: Format) throws(SystemError) {
            // C would take the NUL for the end of the path, and write another file.
            if path.utf8.contains(0) { throw .failed(call: "write(2)", errno: EINVAL, path: path) }
            try write(to: OutputFile(path), as: format)
        }

        /// Writes a picture in the format that the file's name says.
        func write(to file: OutputFile) throws(SystemError) {
            try write(to: file, as: Format(fileName: file.name))
        }

        private func write(to file: OutputFile, as format: Format) throws(SystemError) {
            if Fork.isChild { throw .forked }
            let error = write(TimelinePicture(of: recording, now: .now()), to: file, as: format)
            if error != 0 { throw .failed(call: "write(2)", errno: error, path: file.name) }
        }

        private func write(_ picture: TimelinePicture, to file: OutputFile, as format: Format) -> Int32 {
            switch format {
            case .chromeJSON:
                return picture.chromeText.bytes.withUnsafeBytes { file.write([$0]) }
            case .html:
                // The HTML page contains a word that the records replace.
                let page = UnsafeRawBufferPointer(start: cgrun_timeline_page, count: cgrun_timeline_page_size)
                let place = cgrun_timeline_page_place()
                let rest = UnsafeRawBufferPointer(rebasing: page[(place + cgrun_timeline_page_word)...])
                return picture.pageText.bytes.withUnsafeBytes {
                    file.write([.init(rebasing: page[..<place]), $0, rest])
                }
            }
        }

        /// For tests.
        var picture: TimelinePicture { picture(at: .now()) }
        func picture(at now: Nanoseconds) -> TimelinePicture { TimelinePicture(of: recording, now: now) }
    }
}
