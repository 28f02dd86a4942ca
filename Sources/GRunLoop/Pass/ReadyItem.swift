// SPDX-License-Identifier: Apache-2.0
// What one pass can service, and the seam by which a test decides between several.

extension GRunLoop {
    /// The items of stage 10: exactly one is serviced in a pass.
    package enum ReadyItem: Equatable {
        /// A wake-up alone: nothing is called.
        case wakeUp
        /// Every timer that is due.
        case timers
        /// One snapshot of the main dispatch queue.
        case mainQueue
        /// One version-1 source.
        case descriptor(DescriptorSource)

        /// In the order in which they take turns.
        enum Kind: Int {
            case wakeUp, mainQueue, timers, descriptor
        }

        var kind: Kind {
            switch self {
            case .wakeUp: .wakeUp
            case .timers: .timers
            case .mainQueue: .mainQueue
            case .descriptor: .descriptor
            }
        }

        package static func == (left: ReadyItem, right: ReadyItem) -> Bool {
            if case .descriptor(let one) = left, case .descriptor(let other) = right { return one === other }
            return left.kind == right.kind
        }
    }

    /// For tests that compare with Core Foundation, where the kernel decides: asked with everything that is ready whenever more than
    /// one item is; answers an index, or nil for the loop's own choice. Own thread only.
    package func setItemChooser(_ chooser: (@Sendable ([ReadyItem]) -> Int?)?) {
        itemChooser = chooser
    }
}
