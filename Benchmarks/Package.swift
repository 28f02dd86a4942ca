// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that the library builds without what is only measured beside it.

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let strictC: [CSetting] = [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]

let loop = Target.Dependency.product(name: "GRunLoop", package: "GRunLoop")
let messagePorts = Target.Dependency.product(name: "GRunLoopMessagePorts", package: "GRunLoop")
let cInterface = Target.Dependency.product(name: "GRunLoopC", package: "GRunLoop")
let gioAwaited = Target.Dependency.product(name: "GRunLoopGIO", package: "GRunLoop")
let glib = Target.Dependency.product(name: "CGRunGLib", package: "GRunLoop")
let gio = Target.Dependency.product(name: "CGRunGIO", package: "GRunLoop")

let package = Package(
    name: "GRunLoopBenchmarks",
    dependencies: [.package(name: "GRunLoop", path: "..")],
    targets: [
        // Clocks, counters and the one line that every program prints.
        .target(name: "BenchSupport", cSettings: strictC),
        .executableTarget(
            name: "grun-bench", dependencies: ["BenchSupport", loop, messagePorts, glib], swiftSettings: strict),
        // GIO awaited, beside callbacks of C in the same process.
        .executableTarget(name: "grun-bench-gio", dependencies: [loop, gio, gioAwaited], swiftSettings: strict),
        // The same by way of C.
        .executableTarget(name: "grun-bench-c", dependencies: ["BenchSupport", cInterface], cSettings: strictC),
    ],
    swiftLanguageModes: [.v6]
)
