// SPDX-License-Identifier: Apache-2.0
// Compares the modes of an item with a model: from one mode to so many modes that a table finds them.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The modes of an item") struct PlacesTests {
    @Test("an item always knows its modes, whatever modes it joins and leaves", arguments: 1...20)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let modes = (0..<30).map { ModeState(name: GRunLoop.Mode("mode \($0)"), isCommon: false) }
        var places = Places<Unmanaged<ModeState>>()
        var model: Set<Int> = []
        for step in 0..<2000 {
            let isGrowing = step / 100 % 2 == 0
            let number = Int.random(in: 0..<modes.count, using: &random)
            if model.contains(number) {
                if !isGrowing { model.remove(number) }
                if !isGrowing { #expect(places.remove(modes[number])?.takeUnretainedValue() === modes[number]) }
            } else if isGrowing {
                model.insert(number)
                places.add(.passUnretained(modes[number]))
            } else {
                #expect(places.remove(modes[number]) == nil)
            }
            #expect(modes.indices.filter { places.contains(modes[$0]) } == model.sorted())
            #expect(modes.indices.filter { places[modes[$0]] != nil } == model.sorted())
            var met: [Int] = []
            places.forEach { place in met += modes.indices.filter { place === modes[$0] } }
            #expect(met.sorted() == model.sorted())
            #expect((places.first == nil) == model.isEmpty && (places.single != nil) == (model.count == 1))
        }
        // Leaves the modes as an ending item does.
        while let first = places.first {
            let number = modes.indices.first { first === modes[$0] }
            #expect(number.flatMap { model.remove($0) } != nil)
            places.remove(first.takeUnretainedValue())
        }
        #expect(model.isEmpty)
    }

    @Test("a source in several modes is signalled in its present modes, and its end removes it from all modes")
    func memberships() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let modes = (0..<20).map { GRunLoop.Mode("mode \($0)") }
            let source = GRunLoop.Source(cancel: { _, mode in trace(mode.rawValue) }) { trace("performed") }
            for mode in modes { loop.add(source, forMode: mode) }
            source.signal()
            loop.add(source, forMode: .default)
            for _ in 0..<2 {
                _ = loop.run(mode: .default, for: .zero)
                #expect(trace.take() == ["performed"])
                source.signal()
            }
            loop.remove(source, forMode: modes[3])
            #expect(trace.take() == ["mode 3"])
            _ = loop.run(mode: modes[3], for: .zero)
            #expect(trace.take() == [])
            _ = loop.run(mode: modes[4], for: .zero)
            #expect(trace.take() == ["performed"])
            for mode in modes[..<19] where mode != modes[3] { loop.remove(source, forMode: mode) }
            loop.remove(source, forMode: .default)
            #expect(trace.take().count == 19)
            source.signal()
            _ = loop.run(mode: modes[19], for: .zero)
            #expect(trace.take() == ["performed"])
            for mode in modes { loop.add(source, forMode: mode) }
            source.invalidate()
            #expect(trace.take().sorted() == modes.map(\.rawValue).sorted())
            #expect(!modes.contains { loop.contains(source, forMode: $0) })
        }
    }
}
