// SPDX-License-Identifier: Apache-2.0
// GIO.call: values, errors, cancellation, the thread, and the end of the loop.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// An operation that completes when the test says so.
private final class Manual: @unchecked Sendable {
    private let task = Shared<OpaquePointer?>(nil)
    private let ignoresCancellation: Bool

    init(ignoresCancellation: Bool = false) { self.ignoresCancellation = ignoresCancellation }

    func start(
        _ cancellable: UnsafeMutablePointer<GCancellable>?, _ done: GAsyncReadyCallback?, _ data: gpointer?
    ) {
        let task: OpaquePointer = g_task_new(nil, ignoresCancellation ? nil : cancellable, done, data)
        self.task.value = task
    }

    var isStarted: Bool { task.value != nil }

    /// Completes the operation, in the next iteration of its context. Threads: any.
    func complete(_ number: Int) {
        guard let task = task.value else { return }
        self.task.value = nil
        g_task_return_int(task, number)
        g_object_unref(UnsafeMutableRawPointer(task))
    }

    /// Completes the operation with an error, as ``complete(_:)`` does.
    func fail(_ domain: String, _ code: Int32) {
        guard let task = task.value else { return }
        self.task.value = nil
        g_task_return_error(task, g_error_new_literal(g_quark_from_string(domain), code, "failed"))
        g_object_unref(UnsafeMutableRawPointer(task))
    }
}

private func takeInt(
    _ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer, _ error: GIO.ErrorPlace
) -> Int {
    g_task_propagate_int(result, error)
}

extension Worker {
    fileprivate func result(of manual: Manual) async throws -> Int {
        try await GIO.call {
            manual.start($0, $1, $2)
        } finish: {
            takeInt($0, $1, $2)
        }
    }
}

@Suite("GIO.call") struct CallTests {
    @Test("gives the value of the finish function, in the caller's isolation")
    func value() async throws {
        try await onWorker { worker in
            for number in 1...100 {
                let thread = pthread_self()
                let found = try await GIO.call {
                    #expect(pthread_self() == thread)
                    startTask(number, $0, $1, $2)
                } finish: { source, result, error in
                    #expect(pthread_self() == thread && source == nil)
                    return g_task_propagate_int(result, error)
                }
                #expect(found == number)
            }
            _ = worker
        }
    }

    @Test("throws the error of the operation, which a catch can name")
    func error() async throws {
        try await onWorker { _ in
            let file = GRef(full: g_file_new_for_path("/nowhere/at/all")!)
            do {
                try await GIO.call {
                    g_file_delete_async(file.pointer, 0, $0, $1, $2)
                } finish: { _, result, error in
                    _ = g_file_delete_finish(file.pointer, result, error)
                }
                Issue.record("no error")
            } catch GIO.ErrorCode.notFound {}
        }
    }

    @Test("the codes under Swift names are those of C")
    func codes() {
        let last: GIOErrorEnum = G_IO_ERROR_MESSAGE_TOO_LARGE
        #expect(GIO.ErrorCode.messageTooLarge.rawValue == Int32(last.rawValue))
        let pairs: [(GIO.ErrorCode, GIOErrorEnum)] = [
            (.failed, G_IO_ERROR_FAILED), (.filenameTooLong, G_IO_ERROR_FILENAME_TOO_LONG),
            (.cancelled, G_IO_ERROR_CANCELLED), (.wouldMerge, G_IO_ERROR_WOULD_MERGE),
            (.dbusError, G_IO_ERROR_DBUS_ERROR), (.connectionClosed, G_IO_ERROR_CONNECTION_CLOSED),
        ]
        for (code, value) in pairs {
            #expect(GLibError(value, "").matches(code) && GLibError(code, "").matches(value))
        }
    }

    @Test("a task that was cancelled before starts no operation")
    func cancelledBefore() async throws {
        try await onWorker { worker in
            let manual = Manual()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await worker.result(of: manual)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!manual.isStarted)
        }
    }

    @Test("the code of GTK's dialogs for a cancelled operation is a cancellation, and their other codes are errors")
    func cancelledDialog() async throws {
        try await onWorker { worker in
            for (code, isCancelled) in [(1, true), (2, true), (1, false)] as [(Int32, Bool)] {
                let manual = Manual(ignoresCancellation: true)
                let task = Task { try await worker.result(of: manual) }
                while !manual.isStarted { await Task.yield() }
                if isCancelled { task.cancel() }
                for _ in 0..<100 { await Task.yield() }
                manual.fail("gtk-dialog-error-quark", code)
                let result = await task.result
                if case .failure(let error) = result {
                    #expect((error is CancellationError) == (isCancelled && code == 1))
                } else {
                    Issue.record("no error")
                }
            }
        }
    }

    @Test("cancelled in flight, it returns when the operation has completed")
    func cancelled() async throws {
        try await onWorker { worker in
            let manual = Manual()
            let hasReturned = Flag()
            let task = Task {
                defer { hasReturned.set() }
                return try await worker.result(of: manual)
            }
            while !manual.isStarted { await Task.yield() }
            task.cancel()
            for _ in 0..<100 { await Task.yield() }
            #expect(!hasReturned.isSet)
            manual.complete(1)
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("cancelled in flight, an operation without a cancellable gives its value")
    func cannotBeCancelled() async throws {
        try await onWorker { worker in
            let manual = Manual(ignoresCancellation: true)
            let task = Task { try await worker.result(of: manual) }
            while !manual.isStarted { await Task.yield() }
            task.cancel()
            manual.complete(7)
            let found = try await task.value
            #expect(found == 7)
        }
    }

    @Test("a cancellable of the program's cancels many operations, and keeps no handler")
    func ownCancellable() async throws {
        try await onWorker { worker in
            let cancellable = GRef(full: g_cancellable_new()!)
            for number in 1...1000 {
                let found = try await GIO.call(cancellable: cancellable.pointer) {
                    startTask(number, $0, $1, $2)
                } finish: {
                    takeInt($0, $1, $2)
                }
                #expect(found == number)
            }
            #expect(cancellable.pointer.pointee.parent_instance.ref_count == 1)
            let signal = g_signal_lookup("cancelled", g_cancellable_get_type())
            #expect(g_signal_has_handler_pending(cancellable.pointer, signal, 0, 1) == 0)
            let manual = Manual()
            nonisolated(unsafe) let shared = cancellable.pointer
            let task = Task {
                _ = worker
                return try await GIO.call(cancellable: shared) {
                    manual.start($0, $1, $2)
                } finish: {
                    takeInt($0, $1, $2)
                }
            }
            while !manual.isStarted { await Task.yield() }
            g_cancellable_cancel(shared)
            manual.complete(1)
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("an operation may call back before it has returned, or on another thread")
    func callsBackEarly() async throws {
        try await onWorker { worker in
            let found = try await GIO.call { cancellable, done, data in
                let task: OpaquePointer = g_task_new(nil, cancellable, nil, nil)
                g_task_return_int(task, 3)
                done(nil, task, data)
                g_object_unref(UnsafeMutableRawPointer(task))
            } finish: {
                takeInt($0, $1, $2)
            }
            #expect(found == 3)
            let number = try await GIO.call { cancellable, done, data in
                nonisolated(unsafe) let (task, data): (OpaquePointer, gpointer) = (
                    g_task_new(nil, cancellable, nil, nil), data
                )
                g_task_return_int(task, 4)
                let thread = startThread {
                    done(nil, task, data)
                    g_object_unref(UnsafeMutableRawPointer(task))
                }
                pthread_detach(thread)
            } finish: {
                takeInt($0, $1, $2)
            }
            #expect(number == 4)
            worker.assertIsolated()
        }
    }

    @Test("a closure that starts nothing throws its own error")
    func startsNothing() async throws {
        struct Refused: Error {}
        try await onWorker { _ in
            let isReleased = Flag()
            do {
                try await GIO.call(keeping: Witness { isReleased.set() }) { _, _, _ in
                    throw Refused()
                } finish: { _, _, _ in
                }
                Issue.record("no error")
            } catch is Refused {}
            #expect(isReleased.isSet)
        }
    }

    @Test("on a thread without a running loop it throws, and starts nothing")
    func wrongThread() async throws {
        let isStarted = Flag()
        await #expect(throws: GIO.WrongThreadError.self) {
            try await GIO.call {
                isStarted.set()
                startTask(1, $0, $1, $2)
            } finish: {
                takeInt($0, $1, $2)
            }
        }
        #expect(!isStarted.isSet)
    }

    @Test("the end of the loop ends the call, and the kept object lives until the library has called back")
    func loopEnds() async throws {
        let worker = try Worker()
        let manual = Manual()
        let isReleased = Flag()
        let task = Task {
            try await worker.run { _ in
                try await GIO.call(keeping: Witness { isReleased.set() }) {
                    manual.start($0, $1, $2)
                } finish: {
                    takeInt($0, $1, $2)
                }
            }
        }
        while !manual.isStarted { await Task.yield() }
        await worker.thread.stopAndWait()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        #expect(!isReleased.isSet)
    }
}
