// SPDX-License-Identifier: Apache-2.0
// A host in the place of a script's outermost run: it iterates the loop's home context until a date.

import CGRun
import CGRunGLib
import GRunLoop

enum ScriptHost {
    /// The host's run begins when the loop is attached to its context, and ends when it is detached. Its mode is the
    /// ambient mode.
    static func run(
        _ loop: GRunLoop, in mode: GRunLoop.Mode, until date: UInt64, isHostInnermost: @escaping () -> Bool
    ) {
        loop.detach()
        loop.attach()
        guard let token = try? loop.push(ambientMode: mode), let home = loop.homeContext else {
            fatalError("no descriptor is left for a script")
        }
        home.withPointer { context in
            let alarm = EndAlarm(date, in: context, isHostInnermost: isHostInnermost)
            while !alarm.isOver { g_main_context_iteration(context, 1) }
        }
        loop.detach()
        loop.attach()
        token.pop()
    }

    /// A source of the host that becomes ready at a date, to the nanosecond, before all sources of the loop. It does
    /// not count in a nested run, which serves the home context too, because an outermost run has no such source.
    private final class EndAlarm {
        private let descriptor = cgrun_timer_new()
        private let source: UnsafeMutablePointer<GSource>
        private let record: UnsafeMutablePointer<GPollFD>
        private let date: UInt64
        private let isHostInnermost: () -> Bool

        var isOver: Bool { Grid.now >= date }

        init(_ date: UInt64, in context: OpaquePointer, isHostInnermost: @escaping () -> Bool) {
            self.date = date
            self.isHostInnermost = isHostInnermost
            cgrun_timer_arm(descriptor, Int64(date))
            source = g_source_new(
                Self.functions, UInt32(MemoryLayout<GSource>.size + MemoryLayout<UnsafeRawPointer>.size))
            record = .allocate(capacity: 1)
            record.initialize(to: GPollFD(fd: descriptor, events: 0, revents: 0))
            UnsafeMutableRawPointer(source).storeBytes(
                of: Unmanaged.passUnretained(self).toOpaque(), toByteOffset: MemoryLayout<GSource>.size,
                as: UnsafeMutableRawPointer.self)
            g_source_set_priority(source, -1)
            g_source_set_can_recurse(source, 1)
            g_source_add_poll(source, record)
            g_source_attach(source, context)
        }

        deinit {
            g_source_destroy(source)
            g_source_unref(source)
            record.deallocate()
            cgrun_close(descriptor)
        }

        private static func alarm(of source: UnsafeMutablePointer<GSource>?) -> EndAlarm? {
            guard let source else { return nil }
            let pointer = UnsafeMutableRawPointer(source).load(
                fromByteOffset: MemoryLayout<GSource>.size, as: UnsafeMutableRawPointer.self)
            return Unmanaged<EndAlarm>.fromOpaque(pointer).takeUnretainedValue()
        }

        /// Never freed, because GLib keeps the pointer.
        nonisolated(unsafe) private static let functions: UnsafeMutablePointer<GSourceFuncs> = {
            let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
            functions.initialize(to: GSourceFuncs())
            functions.pointee.prepare = { source, timeout in
                timeout?.pointee = -1
                guard let alarm = alarm(of: source) else { return 0 }
                alarm.record.pointee.events = alarm.isHostInnermost() ? gushort(G_IO_IN.rawValue) : 0
                alarm.record.pointee.revents = 0
                return 0
            }
            functions.pointee.check = { source in
                guard let alarm = alarm(of: source) else { return 0 }
                return alarm.record.pointee.revents != 0 && alarm.isHostInnermost() ? 1 : 0
            }
            functions.pointee.dispatch = { _, _, _ in 0 }
            return functions
        }()
    }
}
