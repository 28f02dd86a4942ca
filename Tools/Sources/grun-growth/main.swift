// SPDX-License-Identifier: Apache-2.0
// How the operations on each kind of thing grow. N things and 4 N things are made, added, cancelled, invalidated and
// removed, in order, in reverse and at random. An operation that grows faster than logarithmically fails, unless
// Exceptions.swift lists it. Words on the command line choose the kinds whose names contain one of them.

import GRunLoop
import Glibc
import TestSupport

Descriptors.allowMany()
_ = RuntimeDirectory.path

let wanted = CommandLine.arguments.dropFirst()
let kinds =
    ItemKind.all.flatMap { [$0.inOneMode, $0.oneAMode, $0.inManyModes, $0.common, $0.inCommonModes] } + Calls.all
    + Messages.all + Others.all
let chosen = kinds.filter { kind in wanted.isEmpty || wanted.contains { kind.name.contains($0) } }

var table = Table()
for kind in chosen {
    for order in kind.orders {
        var rows = kind.measure(order)
        // Other processes disturb a measurement at times, sometimes for a while, because they share the caches. An
        // operation that really grows does so each time.
        for _ in 0..<5 where rows.contains(where: { !$0.isLogarithmic && $0.exception == nil }) {
            usleep(200_000)
            rows = zip(rows, kind.measure(order)).map { former, new in former.isLogarithmic ? former : new }
        }
        table.add(rows)
    }
}
if wanted.isEmpty { table.lookForUnusedExceptions() }
Children.end()
exit(table.end())
