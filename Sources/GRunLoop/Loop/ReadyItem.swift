// SPDX-License-Identifier: Apache-2.0
// The item that a pass serves in stage 10, and how a test chooses between several.

extension GRunLoop {
    /// The item that a pass serves in stage 10. Where several descriptors are ready, the pass serves them in a row.
    struct ReadyItem {
        let kind: ItemKind
        /// For a descriptor: its source. Not retained: the program may be called before its turn, and may have released
        /// the source then. It is only looked for.
        let descriptor: Unmanaged<DescriptorSource>?

        init(_ kind: ItemKind, _ descriptor: Unmanaged<DescriptorSource>? = nil) {
            self.kind = kind
            self.descriptor = descriptor
        }
    }

    /// What a test is shown of a ready item.
    @_spi(Oracle) public enum ReadyChoice {
        case wakeUp
        case timers
        case mainQueue
        case descriptor(Unmanaged<DescriptorSource>)
        case port(Unmanaged<Port>)
    }

    /// For tests that compare with Core Foundation, where the kernel decides: asked with everything that is ready
    /// whenever more than one item is; returns an index, or nil for the loop's own choice. Own thread only.
    @_spi(Oracle) public func setItemChooser(_ chooser: (@Sendable ([ReadyChoice]) -> Int?)?) {
        itemChooser = chooser
    }

    /// The item that a test chooses of several. Nil leaves the choice to the loop.
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
            port._withUnsafeGuaranteedRef { $0.comeFirstLocked(in: mode) }
            return ReadyItem(.port)
        }
    }
}
