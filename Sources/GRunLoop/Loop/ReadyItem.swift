// SPDX-License-Identifier: Apache-2.0
// The item that a pass serves in stage 10, and how a test chooses the item.

extension GRunLoop {
    /// The item that a pass serves in stage 10.
    struct ReadyItem {
        let kind: ItemKind
        /// The source of a descriptor's event; nil for other kinds. The source is not retained, and a callout may
        /// release the source before the pass serves it. So compare this reference only, and never call the source
        /// through it.
        let descriptor: Unmanaged<DescriptorSource>?

        init(_ kind: ItemKind, _ descriptor: Unmanaged<DescriptorSource>? = nil) {
            self.kind = kind
            self.descriptor = descriptor
        }
    }

    /// A ready item, as a test's chooser sees it.
    @_spi(Oracle) public enum ReadyChoice {
        case wakeUp
        case timers
        case mainQueue
        case descriptor(Unmanaged<DescriptorSource>)
        case port(Unmanaged<Port>)
    }

    /// Lets a test choose which ready item is served. In Core Foundation, the kernel chooses.
    ///
    /// The chooser is called whenever more than one item is ready. The chooser gets all ready items, and returns the
    /// index of one of them, or nil to leave the choice to the loop. Call this function on the loop's own thread only.
    @_spi(Oracle) public func setItemChooser(_ chooser: (@Sendable ([ReadyChoice]) -> Int?)?) {
        itemChooser = chooser
    }

    /// Returns the item that a test chooses; nil if the loop has to choose, or if fewer than two items are ready.
    func chosenLocked(_ ready: ItemKinds, _ mode: ModeState) -> ReadyItem? {
        var choices: [ReadyChoice] = []
        if ready.contains(.wakeUp) { choices.append(.wakeUp) }
        if ready.contains(.mainQueue) { choices.append(.mainQueue) }
        if ready.contains(.timer) { choices.append(.timers) }
        choices += batch.pending(in: mode).compactMap {
            mode.descriptors.receiver(of: $0).map { .descriptor($0.source) }
        }
        choices += mode.ports.ready.map { .port($0) }
        guard choices.count > 1, let index = itemChooser?(choices), choices.indices.contains(index) else { return nil }
        switch choices[index] {
        case .wakeUp: return ReadyItem(.wakeUp)
        case .timers: return ReadyItem(.timer)
        case .mainQueue: return ReadyItem(.mainQueue)
        case .descriptor(let source): return ReadyItem(.descriptor, source)
        case .port(let port):
            port._withUnsafeGuaranteedRef { $0.moveToFrontLocked(in: mode) }
            return ReadyItem(.port)
        }
    }
}
