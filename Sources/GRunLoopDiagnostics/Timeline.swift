// SPDX-License-Identifier: Apache-2.0
// The public timeline, which records all loops of the process and writes a picture.

import CGRun
import CGRunDiagnostics
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Records the work of all loops of the process, and writes a picture of it.
    ///
    /// The picture shows all callouts with their durations, and how late timers were. The picture also shows when a
    /// loop slept and which thread woke the loop, the modes and nested runs, and the host's own work.
    ///
    /// ```swift
    /// let timeline = GRunLoop.Timeline()
    /// timeline.start()
    /// // …
    /// try timeline.write(to: "run.html", as: .html)
    /// ```
    ///
    /// After ``start()``, the recording of each loop begins with the loop's next event. The timeline keeps the latest
    /// records of each loop, up to the limit. The picture shows how many earlier records were lost. A timeline does not
    /// keep items alive. Recording an event takes about 40 ns. The first call of an item and the growth of the memory
    /// for records take longer. While no timeline records, a loop is as fast as without a timeline.
    ///
    /// To record the process from its first loop on, set the environment variable `GRUN_TIMELINE`, as in
    /// `GRUN_TIMELINE=run.html ./program`. The picture is written when the process calls `exit()` or returns from its
    /// main function, but not after a signal, `_exit()` or a crash. In the name, `%p` is replaced by the process id. If
    /// the name ends in `.json`, the picture is written as ``Format/chromeJSON``. If the program starts another
    /// timeline, the recording for `GRUN_TIMELINE` ends.
    ///
    /// If a descriptor or libdispatch ends a sleep, the picture does not show which thread caused the event. The
    /// picture does not show GLib's dispatches individually: under a host, all work outside the loop appears as work of
    /// the host.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Apple's Instruments shows similar pictures.
    public final class Timeline: Sendable {
        /// The formats of a picture.
        public enum Format: Hashable, Sendable {
            /// An HTML page that any browser shows, without a network.
            case html
            /// Trace events, for Perfetto and Chrome's viewer.
            case chromeJSON

            /// Selects the format by a file's name: ``chromeJSON`` if the name ends in `.json`, in lower or upper case,
            /// otherwise ``html``.
            ///
            /// Threads: any.
            public init(fileName: String) {
                self = fileName.lowercased().hasSuffix(".json") ? .chromeJSON : .html
            }
        }

        private let recording: Recording

        /// The timeline that `GRUN_TIMELINE` and programs in C use.
        static let ofProcess = Timeline()

        /// Makes a timeline without records.
        ///
        /// - Parameter limit: how many records to keep for each loop and each start of the timeline. The limit is
        ///   rounded up to a power of two, from 256 to 16,777,216. A record takes 24 bytes. A pass makes about ten
        ///   records, including one for each callout.
        ///
        /// Threads: any.
        public init(limit: Int = 65_536) {
            var size: UInt32 = 256
            while size < 1 << 24, Int(size) < limit { size *= 2 }
            recording = Recording(limit: size)
        }

        /// Ends the recording and discards the records, because the last reference to the timeline was released.
        deinit { stop() }

        /// Records all loops from now on. Only one timeline records at a time, so this call stops any other timeline.
        /// Does nothing if this timeline already records.
        ///
        /// Threads: any.
        public func start() {
            guard !Fork.refuses("Timeline.start") else { return }
            recording.start()
        }

        /// Stops the recording, and keeps its records. If the timeline is started again, its picture gets new lanes for
        /// the later records. Does nothing if the timeline does not record.
        ///
        /// Threads: any. If another thread calls this method, a loop's own thread may still add one record after the
        /// call.
        public func stop() {
            guard !Fork.isChild else { return }
            recording.stop()
        }

        /// Whether the timeline records. False in a forked child.
        ///
        /// Threads: any.
        public var isRecording: Bool { !Fork.isChild && recording.isUnderWay }

        /// Writes a picture of the records so far. Records that are made during the call are not in the picture. You
        /// can call this function more than once.
        ///
        /// - Parameters:
        ///   - path: the file to write. An existing file is replaced when the new file is complete. If the path is a
        ///     symbolic link, the link's target is replaced. If this target does not exist, the link itself is
        ///     replaced. A device or a pipe is written to directly. If a named pipe has no reader, the call waits for a
        ///     reader. If the reader closes the pipe during the call, the process ends by `SIGPIPE`. A new file has the
        ///     mode 0644, reduced by the umask. In a sticky folder such as `/tmp`, a file, a link or a pipe of another
        ///     user is not touched: the error is `EACCES`.
        ///   - format: the format of the picture.
        /// - Throws: ``SystemError``, if the file cannot be made or written, or in a forked child. After an error, an
        ///   existing file is unchanged.
        ///
        /// Threads: any. The time depends on the number of records: some milliseconds for each thousand.
        public func write(to path: String, as format: Format) throws(SystemError) {
            // A C function would end the path at the NUL, and would write to another file.
            if path.utf8.contains(0) { throw .failed(call: "write(2)", errno: EINVAL, path: path) }
            try write(to: OutputFile(path), as: format)
        }

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
                // The records replace a placeholder in the HTML page.
                let page = UnsafeRawBufferPointer(start: cgrun_timeline_page, count: cgrun_timeline_page_size)
                let place = cgrun_timeline_page_place()
                let rest = UnsafeRawBufferPointer(rebasing: page[(place + cgrun_timeline_page_word)...])
                return picture.pageText.bytes.withUnsafeBytes {
                    file.write([.init(rebasing: page[..<place]), $0, rest])
                }
            }
        }

        /// For tests: the picture at the present time.
        var picture: TimelinePicture { picture(at: .now()) }
        func picture(at now: Nanoseconds) -> TimelinePicture { TimelinePicture(of: recording, now: now) }
    }
}
