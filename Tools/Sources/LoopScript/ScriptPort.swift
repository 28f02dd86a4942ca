// SPDX-License-Identifier: Apache-2.0
// A script's port: a version-1 source, which is alternately a descriptor source and a GRunLoop.Port.

@_spi(Oracle) import GRunLoop

/// Performs once, however often it was made ready. Ports with odd numbers carry messages.
enum ScriptPort {
    case descriptor(GRunLoop.DescriptorSource, EventDescriptor)
    case messages(GRunLoop.Port)

    init(_ index: Int, _ perform: @escaping @Sendable () -> Void) {
        if index % 2 == 1 {
            self = .messages(GRunLoop.Port(capacity: 1) { _ in perform() })
        } else {
            let descriptor = EventDescriptor()
            self = .descriptor(
                GRunLoop.DescriptorSource(descriptor: descriptor.descriptor) { _, _ in
                    descriptor.consume()
                    perform()
                }, descriptor)
        }
    }

    /// Called after the loop has ended.
    func end() {
        if case .descriptor(_, let descriptor) = self { descriptor.closeDescriptor() }
    }

    func makeReady() {
        switch self {
        case .descriptor(_, let descriptor): descriptor.makeReady()
        // A full port is already ready.
        case .messages(let port): _ = port.trySend(GRunLoop.PortMessage())
        }
    }

    func add(to loop: GRunLoop, _ mode: GRunLoop.Mode) {
        switch self {
        case .descriptor(let source, _):
            do { try loop.add(source, forMode: mode) } catch { fatalError("\(error)") }
        case .messages(let port): loop.add(port, forMode: mode)
        }
    }

    func remove(from loop: GRunLoop, _ mode: GRunLoop.Mode) {
        switch self {
        case .descriptor(let source, _): loop.remove(source, forMode: mode)
        case .messages(let port): loop.remove(port, forMode: mode)
        }
    }

    func isIn(_ loop: GRunLoop, _ mode: GRunLoop.Mode) -> Bool {
        switch self {
        case .descriptor(let source, _): loop.contains(source, forMode: mode)
        case .messages(let port): loop.contains(port, forMode: mode)
        }
    }

    func invalidate() {
        switch self {
        case .descriptor(let source, _): source.invalidate()
        case .messages(let port): port.invalidate()
        }
    }

    var isValid: Bool {
        switch self {
        case .descriptor(let source, _): source.isValid
        case .messages(let port): port.isValid
        }
    }

    func isChosen(by item: GRunLoop.ReadyChoice) -> Bool {
        switch (self, item) {
        case (.descriptor(let own, _), .descriptor(let source)): source.toOpaque() == address(of: own)
        case (.messages(let own), .port(let port)): port.toOpaque() == address(of: own)
        default: false
        }
    }

    private func address(of object: AnyObject) -> UnsafeMutableRawPointer {
        Unmanaged.passUnretained(object).toOpaque()
    }
}
