// swift-tools-version: 6.3
import PackageDescription

// Programs that compare and measure the library. They are a package of their own, so that a client of the library
// resolves and builds nothing for them.

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let loop = Target.Dependency.product(name: "GRunLoop", package: "GRunLoop")
let messagePorts = Target.Dependency.product(name: "GRunLoopMessagePorts", package: "GRunLoop")
let foundation = Target.Dependency.product(name: "GRunLoopFoundation", package: "GRunLoop")
let cInterface = Target.Dependency.product(name: "GRunLoopC", package: "GRunLoop")
let glib = Target.Dependency.product(name: "CGRunGLib", package: "GRunLoop")
let gio = Target.Dependency.product(name: "CGRunGIO", package: "GRunLoop")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "GRunLoopTools",
    dependencies: [
        .package(name: "GRunLoop", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // The oracle: one script, two loops. LoopScript is the script face; grun-oracle runs it on the real CFRunLoop
        // as well.
        .target(name: "LoopScript", dependencies: [loop, cInterface, glib], swiftSettings: strict),
        .executableTarget(
            name: "grun-oracle", dependencies: [loop, foundation, "LoopScript", argumentParser], swiftSettings: strict),

        // A link to Tests/TestSupport: a product of the library's package for it would take the name from its clients.
        .target(name: "TestSupport", dependencies: [loop, messagePorts, gio], swiftSettings: strict),

        // The matrix of turns: each kind of item beside each other, and the real CFRunLoop beside both.
        .executableTarget(
            name: "grun-turns", dependencies: [loop, "TestSupport", glib, argumentParser], swiftSettings: strict),
        // How the operations on each kind of thing grow with the number of things: make growth.
        .executableTarget(
            name: "grun-growth", dependencies: [loop, messagePorts, cInterface, "TestSupport", glib],
            swiftSettings: strict),
        // Random programs, whose account must balance: make perturb. A release build perturbs nothing.
        .executableTarget(
            name: "grun-conserve", dependencies: [loop, "LoopScript", "TestSupport", glib, argumentParser],
            swiftSettings: strict + [.define("GRUN_PERTURB", .when(configuration: .debug))]),
        // The programs that the measuring scripts run.
        .executableTarget(name: "grun-probe", dependencies: [loop, glib], swiftSettings: strict),
        // Foundation's run loop as a guest: make test-foundation.
        .executableTarget(
            name: "grun-foundation-check", dependencies: [loop, foundation, gio], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
