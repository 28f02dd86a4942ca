// SPDX-License-Identifier: Apache-2.0
// Random operations on the library's hand-written containers, each beside a plain model of it.
//
// usage: grun-models [--threads] [--operations N] [--seed N] [--at-a-time N] [MODEL...]
//        grun-models --replay [--tell] MODEL SEED OPERATION,...
//        grun-models --list
//
// N operations are divided among the models. With --threads these are the models of several threads, and an operation
// is a burst. Each model runs in a child process, so that a crash is a finding as well. If a program fails, the parent
// process prints its seed and a shortened list of its operations.

import Glibc

var arguments = CommandLine.arguments.dropFirst()

func refuse(_ text: String) -> Never {
    say("grun-models: \(text)")
    exit(2)
}

func model(named name: String?) -> any Model.Type {
    guard let model = (models + threadedModels).first(where: { $0.name == name }) else {
        refuse("there is no model \(name ?? "")")
    }
    return model
}

func number<Number: FixedWidthInteger>(_ text: String?) -> Number {
    guard let number = text.flatMap({ Number($0) }) else { refuse("\(text ?? "nothing") is not a number") }
    return number
}

switch arguments.first {
case "--list":
    for model in models + threadedModels { say(model.name) }
case "--child":
    arguments.removeFirst()
    exit(
        Child.run(
            model(named: arguments.popFirst()), from: number(arguments.popFirst()),
            operations: number(arguments.popFirst())))
case "--replay":
    arguments.removeFirst()
    let tells = arguments.first == "--tell"
    if tells { arguments.removeFirst() }
    let model = model(named: arguments.popFirst())
    let seed: UInt64 = number(arguments.popFirst())
    let operations = (arguments.popFirst() ?? "").split(separator: ",").map { number(String($0)) as Int }
    exit(Child.replay(model, seed, operations, tells: tells))
default:
    var operations = 1_000_000
    var seed: UInt64 = 1
    var atATime = 2
    var names: [String] = []
    var all = models
    while let argument = arguments.popFirst() {
        switch argument {
        case "--threads": all = threadedModels
        case "--operations": operations = number(arguments.popFirst())
        case "--seed": seed = number(arguments.popFirst())
        case "--at-a-time": atATime = number(arguments.popFirst())
        default: names.append(argument)
        }
    }
    let chosen = names.isEmpty ? all : names.map { model(named: $0) }
    let runner = Runner(seed: seed, operations: (operations + chosen.count - 1) / chosen.count)
    exit(runner.run(chosen, atATime: atATime) ? 0 : 1)
}
