// SPDX-License-Identifier: Apache-2.0
// A GFileMonitor, and the mailbox that receives the monitor's events.

import CGRunGIO
import GRunLoop

/// Watches a file until this object is released.
final class FileWatch: Sendable {
    typealias Box = Mailbox<GIO.FileChangeBatch>

    /// The data of the handler of the monitor's signal.
    final class Receiver: Sendable {
        let mailbox: Box
        let limit: Int

        init(_ mailbox: Box, limit: Int) {
            (self.mailbox, self.limit) = (mailbox, limit)
        }

        func receive(_ change: GIO.FileChange) { mailbox.send(GIO.FileChangeBatch(change, limit: limit)) }
    }

    private let mailbox: Box

    init(_ file: GIO.File, limit: Int) throws {
        let loop = try GIO.callersLoop()
        mailbox = Mailbox(of: loop) { older, newer in
            older.append(newer)
            return older
        }
        mailbox.open(for: try FileMonitor(file, for: Receiver(mailbox, limit: limit)))
    }

    deinit { mailbox.close(.done) }

    /// Waits for changes; nil if the task was cancelled.
    func next(isolation: isolated (any Actor)?) async throws -> [GIO.FileChange]? {
        if let batch = await mailbox.next(isolation: isolation) { return batch.limited() }
        if mailbox.reason == .loopEnded { throw GRunLoop.LoopEndedError() }
        return nil
    }
}

/// A GFileMonitor. When the mailbox is closed, it invalidates the monitor.
private final class FileMonitor: Invalidatable {
    private nonisolated(unsafe) let monitor: UnsafeMutablePointer<GFileMonitor>
    /// The context that calls the handler of the monitor's signal.
    private nonisolated(unsafe) let context: OpaquePointer?
    private let handler: gulong

    init(_ file: GIO.File, for receiver: FileWatch.Receiver) throws {
        let monitor = try GLibError.check { error in
            g_file_monitor(file.pointer, cglib_file_monitor_watch_moves, nil, error)
        }
        self.monitor = try monitor.orFailure()
        context = g_main_context_ref_thread_default()
        handler = g_signal_connect_data(
            self.monitor, "changed", unsafeBitCast(fileHasChanged, to: GCallback.self),
            Unmanaged.passRetained(receiver).toOpaque(),
            { data, _ in data.map { Unmanaged<FileWatch.Receiver>.fromOpaque($0).release() } },
            GConnectFlags(rawValue: 0))
    }

    deinit {
        g_object_unref(monitor)
        g_main_context_unref(context)
    }

    /// Cancels the monitor on the thread of its context, because that thread may be calling the handler now.
    func invalidate() {
        if g_main_context_is_owner(context) != 0 { return cancel() }
        // The release cancels, so that the monitor is also cancelled if the loop has ended.
        callInLoop(of: context, priority: G_PRIORITY_DEFAULT, self, { _ in 0 }) { data in
            data.map { Unmanaged<FileMonitor>.fromOpaque($0).takeRetainedValue().cancel() }
        }
    }

    private func cancel() {
        g_file_monitor_cancel(monitor)
        // The handler retains the mailbox.
        g_signal_handler_disconnect(monitor, handler)
    }
}

private let fileHasChanged:
    @convention(c) (
        UnsafeMutablePointer<GFileMonitor>, OpaquePointer, OpaquePointer?, GFileMonitorEvent, gpointer
    ) -> Void = { _, file, otherFile, event, data in
        guard let kind = GIO.FileChange.Kind(event) else { return }
        let change = GIO.FileChange(
            kind: kind, file: GIO.File(retaining: file), otherFile: otherFile.map { GIO.File(retaining: $0) })
        Unmanaged<FileWatch.Receiver>.fromOpaque(data).takeUnretainedValue().receive(change)
    }
