// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that the library builds without GTK.

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let strictC: [CSetting] = [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]

let loop = Target.Dependency.product(name: "GRunLoop", package: "GRunLoop")
let messagePorts = Target.Dependency.product(name: "GRunLoopMessagePorts", package: "GRunLoop")
let foundation = Target.Dependency.product(name: "GRunLoopFoundation", package: "GRunLoop")
let cInterface = Target.Dependency.product(name: "GRunLoopC", package: "GRunLoop")
let gioAwaited = Target.Dependency.product(name: "GRunLoopGIO", package: "GRunLoop")
let glib = Target.Dependency.product(name: "CGRunGLib", package: "GRunLoop")
let gio = Target.Dependency.product(name: "CGRunGIO", package: "GRunLoop")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "GRunLoopExamples",
    products: [.library(name: "swift-plugin", type: .dynamic, targets: ["swift-plugin"])],
    dependencies: [
        .package(name: "GRunLoop", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(name: "CGtk3", pkgConfig: "gtk+-3.0", providers: [.apt(["libgtk-3-dev"])]),
        .systemLibrary(name: "CGtk4", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),

        // A window whose contents come from everywhere; what it does is the same with both toolkits.
        .target(name: "Panel", dependencies: [loop, argumentParser], swiftSettings: strict),
        .executableTarget(
            name: "gtk3-window", dependencies: ["Panel", "CGtk3", argumentParser], swiftSettings: strict),
        .executableTarget(
            name: "gtk4-window", dependencies: ["Panel", "CGtk4", argumentParser], swiftSettings: strict),

        // A window that Foundation feeds, by what lives on RunLoop.main.
        .executableTarget(
            name: "gtk4-foundation", dependencies: [loop, foundation, "CGtk4", "Measuring"], swiftSettings: strict),

        // A window that copies a file: GTK and GIO awaited by tasks of the main actor.
        .executableTarget(name: "gtk4-copier", dependencies: [loop, gioAwaited, "CGtk4"], swiftSettings: strict),

        // GIO awaited without a toolkit: a server, tail -f, and a copier, which scripts/test-gio checks.
        .executableTarget(name: "gio-echo-server", dependencies: [loop, gio, gioAwaited], swiftSettings: strict),
        .executableTarget(name: "gio-tail", dependencies: [loop, gio, gioAwaited], swiftSettings: strict),
        .executableTarget(name: "gio-copy", dependencies: [loop, gio, gioAwaited], swiftSettings: strict),
        // A service and a client on the session bus.
        .executableTarget(name: "dbus-service", dependencies: [loop, gioAwaited], swiftSettings: strict),
        .executableTarget(name: "dbus-client", dependencies: [loop, gioAwaited], swiftSettings: strict),
        // The file dialog of the desktop's portal.
        .executableTarget(name: "portal-choose", dependencies: [loop, gioAwaited], swiftSettings: strict),

        // Four ways to serve Swift in a GTK program, measured, and this library beside another one.
        .target(name: "Measuring", dependencies: [glib], swiftSettings: strict),
        .target(name: "Bridges", dependencies: [loop, foundation, glib], swiftSettings: strict),
        .executableTarget(
            name: "bridge-table", dependencies: ["Bridges", "Measuring", loop, glib], swiftSettings: strict),
        .executableTarget(name: "bridge-async", dependencies: ["Bridges", loop], swiftSettings: strict),

        // Four programs that have a main loop already, before they use this library and after it.
        .executableTarget(name: "toolkit-before", dependencies: ["Measuring", glib], swiftSettings: strict),
        .executableTarget(
            name: "toolkit-after", dependencies: ["Measuring", glib, loop, foundation], swiftSettings: strict),
        .executableTarget(name: "binding-before", dependencies: ["Measuring", gio], swiftSettings: strict),
        .executableTarget(
            name: "binding-after", dependencies: ["Measuring", gio, loop, foundation], swiftSettings: strict),
        .executableTarget(
            name: "terminal-before", dependencies: ["Measuring", "Bridges", glib], swiftSettings: strict),
        .executableTarget(name: "terminal-after", dependencies: ["Measuring", glib, loop], swiftSettings: strict),
        .executableTarget(name: "daemon-before", dependencies: ["Measuring", glib], swiftSettings: strict),
        .executableTarget(
            name: "daemon-after", dependencies: ["Measuring", glib, loop, foundation], swiftSettings: strict),

        // What must hold while a toolkit drives, checked in a real window of each.
        .target(name: "HostChecks", dependencies: [loop, glib, argumentParser], swiftSettings: strict),
        .executableTarget(
            name: "gtk3-checks", dependencies: ["HostChecks", "CGtk3", argumentParser], swiftSettings: strict),
        .executableTarget(
            name: "gtk4-checks", dependencies: ["HostChecks", "CGtk4", argumentParser], swiftSettings: strict),

        // All that a daemon waits for, in one loop; in C it is daemon-c.
        .executableTarget(name: "daemon", dependencies: [loop], swiftSettings: strict),

        // Two programs: one has a name, by which the other finds and asks it.
        .executableTarget(name: "message-service", dependencies: [loop, messagePorts], swiftSettings: strict),
        .executableTarget(name: "message-client", dependencies: [loop, messagePorts], swiftSettings: strict),

        // Programs in C, which `make test-c` compiles against the installed library as well.
        .executableTarget(name: "hello-timer", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "activity-trace", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "signal-from-thread", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "modal-loop", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "daemon-c", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "message-service-c", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "message-client-c", dependencies: [cInterface], cSettings: strictC),
        .executableTarget(name: "gio-echo", dependencies: [cInterface, gio], cSettings: strictC),
        .executableTarget(name: "gtk3-host", dependencies: [cInterface, "CGtk3"], cSettings: strictC),
        .executableTarget(name: "gtk4-host", dependencies: [cInterface, "CGtk4"], cSettings: strictC),
        .executableTarget(name: "gtk4-stall", dependencies: [cInterface, "CGtk4"], cSettings: strictC),

        // No toolkit: a program in C that knows nothing of the library, and a plug-in in Swift that it loads.
        .target(name: "swift-plugin", dependencies: [loop], swiftSettings: strict),
        .executableTarget(
            name: "swift-plugin-host", dependencies: [glib], cSettings: strictC,
            linkerSettings: [.linkedLibrary("gmodule-2.0")]),
    ],
    swiftLanguageModes: [.v6]
)
