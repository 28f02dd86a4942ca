// SPDX-License-Identifier: Apache-2.0
// The contexts that a run acquires, and those that a host carries, while another thread owns some of them at times.

import CGRun
import CGRunGLib
import Glibc

@testable import GRunLoop

final class AcquiredContextsModel: Model {
    static let name = "AcquiredContexts"

    private let served: [ServedContext]
    private let other = OtherOwner()
    private var ownedByOther: Set<Int> = []
    private var acquired = AcquiredContexts()
    private var wanted: [Int] = []
    /// The contexts that the run owns.
    private var owned: [Int] = []
    private var version = 0
    private var lastVersion: Int?

    init(_ random: inout Random) {
        served = (0..<5).map { _ in
            let context = g_main_context_new()
            defer { g_main_context_unref(context) }
            guard let context else { fatalError("no context") }
            return ServedContext(context, carrying: nil)
        }
    }

    func step(_ random: inout Random) throws {
        switch random.below(10) {
        case 0...2:
            wanted = served.indices.filter { _ in random.once(in: 2) }.shuffled(using: &random)
            version += 1
            Journal.note("version \(version) wants \(wanted)")
        case 3...6: update()
        case 7, 8: try change(random.below(served.count))
        default:
            guard random.once(in: 3) else { return }
            Journal.note("release all")
            acquired.releaseAll()
            (owned, lastVersion) = ([], nil)
        }
        try check()
    }

    func finish() throws {
        acquired.releaseAll()
        for index in ownedByOther.sorted() { other.release(served[index].context) }
        for index in served.indices {
            try expect(other.acquire(served[index].context), "the context \(index) was not released")
            other.release(served[index].context)
        }
        other.end()
    }

    private func update() {
        Journal.note("update")
        acquired.update(to: wanted.map { served[$0] }, version: version)
        owned = wanted.filter { owned.contains($0) || !ownedByOther.contains($0) }
        lastVersion = version
    }

    /// The other thread acquires a context, or releases it.
    private func change(_ index: Int) throws {
        let context = served[index].context
        if ownedByOther.remove(index) != nil {
            Journal.note("the other thread releases \(index)")
            return other.release(context)
        }
        Journal.note("the other thread tries to acquire \(index)")
        let isAcquired = other.acquire(context)
        try expect(isAcquired, is: !owned.contains(index), "whether the other thread can have \(index)")
        if isAcquired { ownedByOther.insert(index) }
    }

    private func check() throws {
        try expect(
            acquired.list.map { found in served.firstIndex { $0 === found } }, is: owned.map { $0 },
            "the contexts that are owned")
        let isCurrent = lastVersion == version && owned.count == wanted.count
        try expect(acquired.isCurrent(version), is: isCurrent, "whether all wanted contexts are owned")
        try expect(acquired.isOutdated(version), is: lastVersion != version, "whether others are wanted")
        try expect(acquired.first, is: owned.first.map { served[$0].context }, "the first context")
    }
}

/// A host iterates its own context, and with it the carried ones. Each carried context has a descriptor.
final class CarriedContextsModel: Model {
    static let name = "CarriedContexts"

    private final class Further {
        let served: ServedContext
        let event: Int32
        var source: UnsafeMutablePointer<GSource>?
        var written: UInt64 = 0
        let read = Shared<UInt64>(0)

        init() {
            guard let context = g_main_context_new() else { fatalError("no context") }
            served = ServedContext(context, carrying: nil)
            g_main_context_unref(context)
            event = eventfd(0, Int32(EFD_NONBLOCK))
        }
    }

    /// Stands in for the loop that the hub refers to.
    private final class Host {
        var carried = CarriedContexts()
    }

    private let host = Host()
    private let home: OpaquePointer
    private let hub: UnsafeMutablePointer<GSource>
    private let further: [Further]
    private let other = OtherOwner()
    private var ownedByOther: Set<Int> = []
    private var wanted: [Int] = []
    private var version = 0

    init(_ random: inout Random) {
        guard let home = g_main_context_new() else { fatalError("no context") }
        self.home = home
        var functions = cgrun_hub_funcs()
        functions.prepare = { _, _, watched in
            watched?.pointee = 0
            return false
        }
        functions.check = { _, _, _ in false }
        functions.dispatch = { loop in
            guard let loop else { return }
            // Serves the ready contexts as a pass does.
            for served in Unmanaged<Host>.fromOpaque(loop).takeUnretainedValue().carried.served {
                while g_main_context_iteration(served.context, 0) != 0 {}
            }
        }
        functions.release = { loop in
            if let loop { Unmanaged<Host>.fromOpaque(loop).release() }
        }
        hub = cgrun_hub_new(&functions, Unmanaged.passRetained(host).toOpaque(), false)
        g_source_attach(hub, home)
        further = (0..<4).map { _ in Further() }
    }

    func step(_ random: inout Random) throws {
        let index = random.below(further.count)
        switch random.below(12) {
        case 0, 1: carry(further.indices.filter { _ in random.once(in: 2) }.shuffled(using: &random))
        case 2, 3: attachOrDestroy(index)
        case 4...7: write(to: index)
        case 8: changeOwner(of: index)
        default: try iterate()
        }
    }

    func finish() throws {
        for index in ownedByOther.sorted() { other.release(further[index].served.context) }
        ownedByOther = []
        try iterate()
        try expect(host.carried.removeAll().count, is: wanted.count, "contexts that were carried")
        for one in further {
            try expect(other.acquire(one.served.context), "a context was not released")
            other.release(one.served.context)
            destroySource(one)
            close(one.event)
        }
        other.end()
        cgrun_hub_close(hub)
        g_source_unref(hub)
        g_main_context_unref(home)
    }

    // MARK: Operations

    private func carry(_ indices: [Int]) {
        Journal.note("carry \(indices)")
        wanted = indices
        version += 1
        let mode = ObjectIdentifier(host)
        _ = host.carried.update(to: indices.map { further[$0].served }, of: mode, version: version, into: hub)
    }

    /// The context gets a source that watches its descriptor, or loses it: its poll records change.
    private func attachOrDestroy(_ index: Int) {
        let one = further[index]
        guard one.source == nil else {
            Journal.note("the source of \(index) is destroyed")
            return destroySource(one)
        }
        Journal.note("\(index) gets a source")
        guard let source = g_unix_fd_source_new(one.event, G_IO_IN) else { fatalError("no source") }
        let callback: GUnixFDSourceFunc = { descriptor, _, data in
            var count: UInt64 = 0
            guard let data, Glibc.read(descriptor, &count, 8) == 8 else { return 1 }
            Unmanaged<Shared<UInt64>>.fromOpaque(data).takeUnretainedValue().value += count
            return 1
        }
        let data = Unmanaged.passUnretained(one.read).toOpaque()
        g_source_set_callback(source, unsafeBitCast(callback, to: GSourceFunc.self), data, nil)
        g_source_attach(source, one.served.context)
        one.source = source
    }

    private func destroySource(_ one: Further) {
        guard let source = one.source else { return }
        g_source_destroy(source)
        g_source_unref(source)
        one.source = nil
    }

    private func write(to index: Int) {
        Journal.note("an event for \(index)")
        var count: UInt64 = 1
        _ = Glibc.write(further[index].event, &count, 8)
        further[index].written += 1
    }

    private func changeOwner(of index: Int) {
        let context = further[index].served.context
        if ownedByOther.remove(index) != nil {
            Journal.note("the other thread releases \(index)")
            other.release(context)
        } else if other.acquire(context) {
            Journal.note("the other thread owns \(index)")
            ownedByOther.insert(index)
        }
    }

    // MARK: Comparison

    /// The host iterates until nothing is ready. Carried contexts are served then, and no others.
    private func iterate() throws {
        Journal.note("iterate")
        let before = further.map(\.read.value)
        for _ in 0..<20 { g_main_context_iteration(home, 0) }
        for (index, one) in further.enumerated() {
            let isServed = wanted.contains(index) && !ownedByOther.contains(index) && one.source != nil
            try expect(one.read.value, is: isServed ? one.written : before[index], "the events of \(index)")
        }
        let owned = wanted.filter { !ownedByOther.contains($0) }
        let served = host.carried.served.map { found in further.firstIndex { $0.served === found } }
        try expect(served, is: owned.map { $0 }, "the contexts that are served")
    }
}
