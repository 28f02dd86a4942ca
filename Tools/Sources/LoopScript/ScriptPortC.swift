// SPDX-License-Identifier: Apache-2.0
// A script's port through C: a version-1 source, which is alternately a GRunFdSource and a GRunPort.

import CGRun
import CGRunHeaders
@_spi(Oracle) import GRunLoop

/// Performs once, however often it was made ready. Ports with odd numbers carry messages.
enum ScriptPortC {
    case descriptor(OpaquePointer?, EventDescriptor)
    case messages(OpaquePointer?)

    /// The data of the C functions.
    private final class Callout {
        let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }

        static func call(_ data: gpointer?) {
            if let data { Unmanaged<Callout>.fromOpaque(data).takeUnretainedValue().body() }
        }

        static let release: GDestroyNotify = { if let data = $0 { Unmanaged<Callout>.fromOpaque(data).release() } }
    }

    init(_ index: Int, _ perform: @escaping () -> Void) {
        if index % 2 == 1 {
            let data = Unmanaged.passRetained(Callout(perform)).toOpaque()
            self = .messages(grun_port_new(1, { Callout.call($1) }, data, Callout.release))
        } else {
            let descriptor = EventDescriptor()
            let callout = Callout {
                descriptor.consume()
                perform()
            }
            let source = grun_fd_source_new(
                descriptor.descriptor, G_IO_IN,
                { _, _, data in
                    Callout.call(data)
                    return 1
                }, Unmanaged.passRetained(callout).toOpaque(), Callout.release)
            self = .descriptor(source, descriptor)
        }
    }

    func release() {
        switch self {
        case .descriptor(let source, let descriptor):
            grun_fd_source_unref(source)
            descriptor.closeDescriptor()
        case .messages(let port): grun_port_unref(port)
        }
    }

    func makeReady() {
        switch self {
        case .descriptor(_, let descriptor): descriptor.makeReady()
        case .messages(let port):
            let message = grun_port_message_new(0)
            // A full port is already ready.
            _ = grun_port_send(port, message)
            grun_port_message_unref(message)
        }
    }

    func add(to loop: OpaquePointer?, _ mode: String) {
        switch self {
        case .descriptor(let source, _): CInterfaceFace.mustSucceed { grun_loop_add_fd_source(loop, source, mode, $0) }
        case .messages(let port): grun_loop_add_port(loop, port, mode)
        }
    }

    func remove(from loop: OpaquePointer?, _ mode: String) {
        switch self {
        case .descriptor(let source, _): grun_loop_remove_fd_source(loop, source, mode)
        case .messages(let port): grun_loop_remove_port(loop, port, mode)
        }
    }

    func isIn(_ loop: OpaquePointer?, _ mode: String) -> Bool {
        switch self {
        case .descriptor(let source, _): grun_loop_contains_fd_source(loop, source, mode) != 0
        case .messages(let port): grun_loop_contains_port(loop, port, mode) != 0
        }
    }

    func invalidate() {
        switch self {
        case .descriptor(let source, _): grun_fd_source_invalidate(source)
        case .messages(let port): grun_port_invalidate(port)
        }
    }

    var isValid: Bool {
        switch self {
        case .descriptor(let source, _): grun_fd_source_is_valid(source) != 0
        case .messages(let port): grun_port_is_valid(port) != 0
        }
    }

    func isChosen(by item: GRunLoop.ReadyChoice) -> Bool {
        switch (self, item) {
        case (.descriptor(let own?, _), .descriptor(let source)): own == OpaquePointer(source.toOpaque())
        case (.messages(let own?), .port(let port)): own == OpaquePointer(port.toOpaque())
        default: false
        }
    }
}
