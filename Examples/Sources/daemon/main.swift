// SPDX-License-Identifier: Apache-2.0
// A daemon: reads its configuration again on SIGHUP, keeps a child alive, takes values from threads, writes statistics
// when there is nothing else to do, and stops on SIGTERM and SIGINT: what was accepted is delivered, the child is ended
// and reaped, and the exit status is 0. The same in C is daemon-c.

import GRunLoop
import Glibc

guard CommandLine.arguments.count == 2 else {
    complain("usage: daemon CONFIGURATION")
    exit(2)
}
do {
    let daemon = try Daemon(configuredBy: CommandLine.arguments[1])
    try daemon.run()
} catch {
    complain("daemon: \(error)")
    exit(1)
}
