// SPDX-License-Identifier: Apache-2.0
// Scenarios in which a filter forbids system calls.

import GRunLoop
import Glibc
import TestSupport

#if arch(x86_64)
    private let epollControl: UInt32 = 233
#else
    private let epollControl: UInt32 = 21
#endif

/// Sets the filter after the source was added, like a program that confines itself after its setup.
func descriptorsSandboxed(_ code: Int32) throws {
    let loop = GRunLoop.current
    let pipe = Pipe()
    let trace = Recorder()
    let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
        trace("performed")
        pipe.drain()
    }
    try loop.add(source, forMode: .default)
    func serve() {
        pipe.send()
        loop.run(for: .seconds(5), returningAfterSourceHandled: true)
    }
    serve()
    forbidSystemCall(epollControl, error: code)
    serve()
    say(trace.lines.joined(separator: ", "))
}

/// From now on, a seccomp filter makes the system call with this number fail.
func forbidSystemCall(_ number: UInt32, error: Int32) {
    struct Instruction {
        var code: UInt16
        var jumpIfTrue: UInt8 = 0
        var jumpIfFalse: UInt8 = 0
        var operand: UInt32
    }
    struct Program {
        var count: UInt16
        var instructions: UnsafeMutablePointer<Instruction>?
    }
    typealias Control = @convention(c) (Int32, Int, Int, Int, Int) -> Int32
    guard let symbol = dlsym(nil, "prctl") else { return say("no prctl") }
    let control = unsafeBitCast(symbol, to: Control.self)
    var filter = [
        Instruction(code: 0x20, operand: 0),  // load the number
        Instruction(code: 0x15, jumpIfTrue: 0, jumpIfFalse: 1, operand: number),
        Instruction(code: 0x06, operand: 0x0005_0000 | UInt32(error)),  // SECCOMP_RET_ERRNO
        Instruction(code: 0x06, operand: 0x7FFF_0000),  // SECCOMP_RET_ALLOW
    ]
    filter.withUnsafeMutableBufferPointer { instructions in
        var program = Program(count: UInt16(instructions.count), instructions: instructions.baseAddress)
        withUnsafeMutablePointer(to: &program) { program in
            let isDone = control(38, 1, 0, 0, 0) == 0 && control(22, 2, Int(bitPattern: program), 0, 0) == 0
            if !isDone { say("seccomp failed with \(errno)") }
        }
    }
}
