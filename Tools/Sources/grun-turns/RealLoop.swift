// SPDX-License-Identifier: Apache-2.0
// The same players and drives on the toolchain's real CFRunLoop, as far as it has them.

// CoreFoundation links only beside Foundation.
import CoreFoundation
import Dispatch
import Foundation
import TestSupport

enum RealLoop {
    static let kinds: [Kind] = [.block, .source, .timer, .moved, .descriptor, .mainQueue]
    static let forms: [Form] = [.run, .zero, .oneSource, .limit, .nested]

    /// The longest wait for a starved player.
    static let limit: Int64 = 250_000_000

    /// Runs the cell like ``Cell/run(rounds:variant:)``. GRunLoop does not run meanwhile.
    static func run(_ cell: Cell, rounds: Int) -> [Ledger.Account] {
        let ledger = Ledger(cell.loads, rounds: rounds, limit: limit)
        let players = cell.kinds.enumerated().map { index, kind in RealPlayer(kind) { ledger.call(index) } }
        drive(cell.form, ledger)
        for player in players { player.end() }
        for _ in 0..<8 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) }
        return ledger.accounts
    }

    private static func drive(_ form: Form, _ ledger: Ledger) {
        let loop = CFRunLoopGetMain()
        ledger.stop = { CFRunLoopStop(loop) }
        let runs = { (seconds: Double, returnsAfterSource: Bool) in
            while !ledger.isDone { CFRunLoopRunInMode(kCFRunLoopDefaultMode, seconds, returnsAfterSource) }
        }
        switch form {
        case .zero: runs(0, false)
        case .oneSource: runs(5, true)
        case .limit: runs(0.002, false)
        case .nested:
            ledger.isWaiting = true
            let timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent(), 0, 0, 0) { _ in
                ledger.isWaiting = false
                runs(5, false)
                CFRunLoopStop(loop)
            }
            CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
            runs(5, false)
            CFRunLoopTimerInvalidate(timer)
        default: runs(5, false)
        }
    }
}

/// An item of a kind that is always ready in the main thread's CFRunLoop.
private final class RealPlayer {
    private let kind: Kind
    private let call: () -> Bool
    private var source: CFRunLoopSource?
    private var timer: CFRunLoopTimer?
    private let ready = EventDescriptor()
    private var isOver = false

    init(_ kind: Kind, _ call: @escaping () -> Bool) {
        self.kind = kind
        self.call = call
        begin()
    }

    private func begin() {
        let loop = CFRunLoopGetMain()
        let info = Unmanaged.passUnretained(self).toOpaque()
        switch kind {
        case .source:
            var context = CFRunLoopSourceContext()
            context.info = info
            context.perform = { info in RealPlayer.of(info)?.performed() }
            source = CFRunLoopSourceCreate(nil, 0, &context)
            CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
            CFRunLoopSourceSignal(source)
            CFRunLoopWakeUp(loop)
        case .descriptor:
            var context = CFRunLoopSourceContext1()
            context.version = 1
            context.info = info
            context.getPort = { info in RealPlayer.of(info)?.ready.descriptor ?? -1 }
            // Core Foundation has already read the eventfd.
            context.perform = { info in RealPlayer.of(info)?.performed() }
            ready.makeReady()
            source = withUnsafeMutablePointer(to: &context) { pointer in
                pointer.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                    CFRunLoopSourceCreate(nil, 0, $0)
                }
            }
            CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
        case .timer:
            // Core Foundation counts missed intervals one by one. With a nanosecond it would do nothing else.
            timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent(), 1e-6, 0, 0) { [unowned self] _ in
                _ = call()
            }
            CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
        default: again()
        }
    }

    private func performed() {
        guard call() else { return }
        if kind == .descriptor {
            ready.makeReady()
        } else {
            CFRunLoopSourceSignal(source)
            CFRunLoopWakeUp(CFRunLoopGetMain())
        }
    }

    private func again() {
        let loop = CFRunLoopGetMain()
        nonisolated(unsafe) let player = self
        let next: @Sendable () -> Void = { if !player.isOver, player.call() { player.again() } }
        switch kind {
        case .mainQueue: DispatchQueue.main.async(execute: next)
        case .moved:
            timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent(), 0, 0, 0) { _ in next() }
            CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
        default:
            CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, next)
            CFRunLoopWakeUp(loop)
        }
    }

    func end() {
        isOver = true
        if let source { CFRunLoopSourceInvalidate(source) }
        if let timer { CFRunLoopTimerInvalidate(timer) }
    }

    private static func of(_ info: UnsafeMutableRawPointer?) -> RealPlayer? {
        info.map { Unmanaged<RealPlayer>.fromOpaque($0).takeUnretainedValue() }
    }
}
