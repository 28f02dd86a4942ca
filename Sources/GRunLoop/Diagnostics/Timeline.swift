// SPDX-License-Identifier: Apache-2.0
// A picture of what the loops of a process have done.

import CGRun
import Glibc

extension GRunLoop {
    /// Records what all loops of the process do, and writes a picture of it: what was called when and for how long, how
    /// late timers were, when a loop slept and who woke it, modes, nested runs, and under a host its own work.
    ///
    /// ```swift
    /// let timeline = GRunLoop.Timeline()
    /// timeline.start()
    /// // …
    /// try timeline.write(to: "run.html", as: .html)
    /// ```
    ///
    /// A loop is recorded from the next thing on that it does. Of each the last records are kept, as many as the limit
    /// says; the picture says how many came before. No item is held: those that go, go. A record costs about 40 ns,
    /// more where an item is called for the first time and where the memory for records grows; while nothing is
    /// recorded a loop pays what it pays without a timeline.
    ///
    /// The variable `GRUN_TIMELINE` of the environment, as in `GRUN_TIMELINE=run.html ./program`, has the process
    /// recorded from its first loop on, and the picture written when it exits by `exit()` or the end of its main
    /// function; not after a signal, `_exit()` or a crash. `%p` in the name is the number of the process, and a name
    /// that ends in `.json` has the picture written as ``Format/chromeJSON``. A program that starts a timeline of its
    /// own ends this one, and what it does from there on is not in that picture.
    ///
    /// What is not seen: who ends a sleep by a descriptor, or from libdispatch; and what GLib dispatches, one by one:
    /// under a host all that is not ours is shown as the host's.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Instruments shows the like.
    public final class Timeline: Sendable {
        /// As what a picture is written.
        public enum Format: Hashable, Sendable {
            /// A page that any browser shows, without a network.
            case html
            /// Trace events, for Perfetto and Chrome's viewer.
            case chromeJSON

            /// As a file's name says: trace events if it ends in `.json`, in small letters or capitals, else a page.
            ///
            /// Threads: any.
            public init(fileName: String) {
                self = fileName.lowercased().hasSuffix(".json") ? .chromeJSON : .html
            }
        }

        /// Why a picture was not written. What was there under its name before is there still.
        public enum WriteError: Error, Hashable, Sendable, CustomStringConvertible {
            /// The file cannot be made or written: `ENOENT`, `EACCES`, `ENOSPC` and others.
            case system(errno: Int32, path: String)
            /// This process was forked and did not exec().
            case forked

            /// What is wrong and what to do, as one sentence.
            public var description: String {
                switch self {
                case .system(let errno, let path):
                    "the timeline cannot be written to \(quoted(path)) (\(errorMessage(errno))); give it a name in a "
                        + "folder that can be written to and has room"
                case .forked: "\(Fork.reason). \(Fork.remedy)"
                }
            }
        }

        private let recording: Recording

        /// The one of the environment and of programs in C.
        static let ofProcess = Timeline()

        /// A timeline without records.
        ///
        /// - Parameter limit: how many records of each loop are kept, each time that the timeline is started: rounded
        ///   up to a power of two, 256 at least and 16,777,216 at most. One is of 24 bytes. A pass has some ten, of
        ///   which each callout is one.
        ///
        /// Threads: any.
        public init(limit: Int = 65_536) {
            var size: UInt32 = 256
            while size < 1 << 24, Int(size) < limit { size *= 2 }
            recording = Recording(limit: size)
        }

        /// It ends with the last reference to it. What it has is lost then.
        deinit { stop() }

        /// Records all loops from now on. One timeline records at a time: another one ends. Nothing, if it records
        /// already.
        ///
        /// Threads: any.
        public func start() {
            guard !Fork.refuses("Timeline.start") else { return }
            recording.start()
        }

        /// Ends what ``start()`` began. What was recorded stays. Started again, it goes on, with new lanes. Nothing, if
        /// it does not record.
        ///
        /// Threads: any. A loop's thread may write one more record.
        public func stop() {
            guard !Fork.isChild else { return }
            recording.stop()
        }

        /// Whether it records. False in a forked child.
        ///
        /// Threads: any.
        public var isRecording: Bool { !Fork.isChild && recording.isUnderWay }

        /// Writes what was recorded so far. What is recorded meanwhile is not in it. It may be called again.
        ///
        /// - Parameters:
        ///   - path: the file, which is replaced when it is whole; where it is a link, what that leads to. A device or
        ///     a pipe is written to: without a reader that ends the process by `SIGPIPE`, or waits, as any `write()`. A
        ///     new file has the mode 0644 without the bits of the umask. In a sticky folder such as `/tmp`, a file, a
        ///     link or a pipe of another user is not touched: the error is `EACCES`.
        ///   - format: as what.
        /// - Throws: ``WriteError``.
        ///
        /// Threads: any; it takes as long as the file is large, some milliseconds for each thousand records.
        public func write(to path: String, as format: Format) throws(WriteError) {
            // C would stop at the NUL, and take another file.
            if path.utf8.contains(0) { throw .system(errno: EINVAL, path: path) }
            try write(to: OutputFile(path), as: format)
        }

        /// As its name says.
        func write(to file: OutputFile) throws(WriteError) {
            try write(to: file, as: Format(fileName: file.name))
        }

        private func write(to file: OutputFile, as format: Format) throws(WriteError) {
            if Fork.isChild { throw .forked }
            let error = write(TimelinePicture(of: recording, now: .now()), to: file, as: format)
            if error != 0 { throw .system(errno: error, path: file.name) }
        }

        private func write(_ picture: TimelinePicture, to file: OutputFile, as format: Format) -> Int32 {
            switch format {
            case .chromeJSON:
                return picture.chromeText.bytes.withUnsafeBytes { file.write([$0]) }
            case .html:
                // The page, with the records in the place of a word.
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
