// SPDX-License-Identifier: Apache-2.0
// A daemon: it reads its configuration again on SIGHUP, keeps a child alive, receives values from threads, and writes
// statistics when it is idle. On SIGTERM and SIGINT it delivers the accepted values, ends and reaps the child, and
// exits with status 0. The same program in C is daemon-c.

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
