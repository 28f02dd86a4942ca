// SPDX-License-Identifier: Apache-2.0
// What one pass can service, and the seam by which a test decides between several.

extension GRunLoop {
    /// The items of stage 10: one is serviced in a pass, and descriptors that are ready beside each other in a row.
    @_spi(Oracle) public enum ReadyItem {
        /// A wake-up alone: nothing is called.
        case wakeUp
        /// Every timer that is due.
        case timers
        /// One snapshot of the main dispatch queue.
        case mainQueue
        /// One version-1 source. Not counted: user code may be called before its turn, and it may be gone then. It is
        /// only looked for.
        case descriptor(Unmanaged<DescriptorSource>)
        /// One message: of the port whose turn it is then.
        case port

        /// In the order in which they take turns. `port` stays the last: by it they are counted.
        enum Kind: Int {
            case wakeUp, mainQueue, timers, descriptor, port

            static var count: Int { port.rawValue + 1 }
        }

        var kind: Kind {
            switch self {
            case .wakeUp: .wakeUp
            case .timers: .timers
            case .mainQueue: .mainQueue
            case .descriptor: .descriptor
            case .port: .port
            }
        }
    }

    /// What a test is shown of a ready item.
    @_spi(Oracle) public enum ReadyChoice {
        case item(ReadyItem)
        case port(Unmanaged<Port>)
    }

    /// For tests that compare with Core Foundation, where the kernel decides: asked with everything that is ready
    /// whenever more than one item is; returns an index, or nil for the loop's own choice. Own thread only.
    @_spi(Oracle) public func setItemChooser(_ chooser: (@Sendable ([ReadyChoice]) -> Int?)?) {
        itemChooser = chooser
    }
}
