// swift-tools-version: 6.3
import PackageDescription

/// Every Swift target of the package: a warning is an error.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// A debug build perturbs its own timing if it is told to: see cgrun-perturb.h. A release build cannot.
let perturbedInC: [CSetting] = [.define("GRUN_PERTURB", .when(configuration: .debug))]
let perturbed: [SwiftSetting] = [.define("GRUN_PERTURB", .when(configuration: .debug))]

// The oracle and other programs with dependencies of their own are the package Tools: a client of this one resolves
// nothing else.
let package = Package(
    name: "GRunLoop",
    products: [
        // The run loop, with its traces, recordings and stall monitors.
        .library(name: "GRunLoop", targets: ["GRunLoop", "GRunLoopDiagnostics"]),
        // The run loop alone: GRUN_STALLS and GRUN_TIMELINE have no effect.
        .library(name: "GRunLoopCore", targets: ["GRunLoop"]),
        // Messages between processes.
        .library(name: "GRunLoopMessagePorts", targets: ["GRunLoopMessagePorts"]),
        // The C interface, <grun/grun.h>, for targets in C of a Swift package. `make install` is for all others.
        .library(name: "GRunLoopC", targets: ["GRunLoopC"]),
        // One copy serves a process: for a program and plug-ins, in Swift and in C, that all use it.
        .library(
            name: "GRunLoopDynamic", type: .dynamic,
            targets: ["GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "GRunLoopC"]),
        // Foundation's run loop as a guest: RunLoop.main lives on GRunLoop.main.
        .library(name: "GRunLoopFoundation", targets: ["GRunLoopFoundation"]),
        // GIO's operations awaited: files, streams, subprocesses, and any pair of _async and _finish.
        .library(name: "GRunLoopGIO", targets: ["GRunLoopGIO"]),
        // For test targets: tests of the main actor run on the process's main thread, where the main loop runs.
        .library(name: "GRunLoopTesting", targets: ["GRunLoopTesting"]),
        // An experiment: the main loop as the executor of the main actor. It needs Swift 6.3.
        .library(name: "GRunLoopMainExecutor", targets: ["GRunLoopMainExecutor"]),
        // GLib's C interface, for programs that hand contexts to the loop, and GIO's.
        .library(name: "CGRunGLib", targets: ["CGRunGLib"]),
        .library(name: "CGRunGIO", targets: ["CGRunGIO"]),
        .executable(name: "gloop-demo", targets: ["gloop-demo"]),
    ],
    targets: [
        .systemLibrary(
            name: "CGRunGLib", path: "Sources/CGLib", pkgConfig: "gobject-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // Apart from it, so that whoever does not use GIO does not load it.
        .systemLibrary(
            name: "CGRunGIO", path: "Sources/CGio", pkgConfig: "gio-unix-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // The public headers of the C interface, and nothing else: a target in C sees this module.
        .target(
            name: "CGRunHeaders", dependencies: ["CGRunGLib"],
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .target(
            name: "CGRun", dependencies: ["CGRunGLib", "CGRunHeaders"],
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")] + perturbedInC,
            linkerSettings: [.linkedLibrary("dispatch")]),
        .target(
            name: "GRunLoop", dependencies: ["CGRunGLib", "CGRun"],
            swiftSettings: strict + perturbed + [.enableUpcomingFeature("InternalImportsByDefault")]),

        // Traces, recordings and stall monitors, behind the one hook of the core (LoopProbe.swift).
        .target(
            name: "CGRunDiagnostics", dependencies: ["CGRun", "CGRunGLib"], exclude: ["timeline.html"],
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .target(
            name: "GRunLoopDiagnostics", dependencies: ["GRunLoop", "CGRun", "CGRunDiagnostics", "CGRunGLib"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        // Messages between processes: a product of its own, which uses the loop as a program does.
        .target(
            name: "CGRunMessagePorts", dependencies: ["CGRun"],
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .target(
            name: "GRunLoopMessagePorts", dependencies: ["GRunLoop", "CGRun", "CGRunMessagePorts"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        // Apart from the others, so that no program in Swift has the functions of C in it.
        .target(
            name: "GRunLoopC",
            dependencies: [
                "GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "CGRun", "CGRunMessagePorts",
                "CGRunHeaders",
            ],
            swiftSettings: strict),

        // Foundation's run loop as a guest. A product of its own: the library imports no Foundation.
        .target(
            name: "CGRunFoundation",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .target(
            name: "GRunLoopFoundation", dependencies: ["GRunLoop", "CGRunFoundation"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        .target(
            name: "GRunLoopGIO", dependencies: ["GRunLoop", "CGRunGIO"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        // For test targets only, because its constructor takes the main thread.
        .target(
            name: "CGRunTesting",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .target(
            name: "GRunLoopTesting",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "GRunLoopFoundation", "CGRunTesting"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        .target(
            name: "GRunLoopMainExecutor", dependencies: ["GRunLoop"],
            swiftSettings: strict + [.enableUpcomingFeature("InternalImportsByDefault")]),

        // The demonstration: self-checking scenarios.
        .executableTarget(
            name: "gloop-demo",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "CGRunGIO"],
            swiftSettings: strict),

        // C code by itself: the hub under valgrind, and the lock in a sandbox.
        .executableTarget(name: "grun-hub-check", dependencies: ["CGRun", "CGRunDiagnostics"], path: "Tests/HubCheck"),
        .executableTarget(name: "grun-lock-check", dependencies: ["CGRun"], path: "Tests/LockCheck"),

        // What the tests share: loops on threads, recorders, watchdogs.
        .target(
            name: "TestSupport",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "CGRunGIO"],
            path: "Tests/TestSupport", swiftSettings: strict),
        // Facts about a process: its main thread, its descriptors, its forks. Beside the tests, which start it.
        .executableTarget(
            name: "grun-test-child",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "TestSupport", "CGRunGLib"],
            path: "Tests/TestChild", swiftSettings: strict),
        // Stalls that hold a lock, also malloc()'s. No test may depend on it: the tests would have this malloc().
        .executableTarget(
            name: "grun-stall-child",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "TestSupport", "CGRunGLib", "CMallocGate"],
            path: "Tests/StallChild", swiftSettings: strict),
        .target(
            name: "CMallocGate", path: "Tests/MallocGate",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .executableTarget(
            name: "grun-async-main-child", dependencies: ["GRunLoop", "TestSupport", "CGRunGLib", "CAsyncHook"],
            path: "Tests/AsyncMainChild", swiftSettings: strict),
        .target(
            name: "CAsyncHook", path: "Tests/AsyncHook",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .executableTarget(
            name: "grun-main-executor-child", dependencies: ["GRunLoop", "GRunLoopMainExecutor", "CGRunGLib"],
            path: "Tests/MainExecutorChild", swiftSettings: strict),
        // What comes over the wire of message ports: make fuzz.
        .target(
            name: "CWire", path: "Tests/WireFuzz/Wire",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .executableTarget(
            name: "grun-wire-fuzz",
            dependencies: ["CWire", "CGRun", "CGRunMessagePorts", "GRunLoop", "GRunLoopMessagePorts", "TestSupport"],
            path: "Tests/WireFuzz/Fuzz", swiftSettings: strict),
        .executableTarget(
            name: "grun-wire-hostile",
            dependencies: ["CWire", "CGRun", "CGRunMessagePorts", "GRunLoop", "GRunLoopMessagePorts", "TestSupport"],
            path: "Tests/WireFuzz/Hostile", swiftSettings: strict),
        // Random operations on each unsafe container, beside a plain model of it: make models.
        .executableTarget(
            name: "grun-models",
            dependencies: [
                "GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "CGRun", "CGRunDiagnostics",
                "CGRunMessagePorts", "CGRunGLib",
            ],
            path: "Tests/Models",
            swiftSettings: strict),
        // Producers, loops, and an exact account of what went between them: make soak.
        .executableTarget(
            name: "grun-soak", dependencies: ["GRunLoop", "GRunLoopMessagePorts", "TestSupport", "CGRunGLib"],
            path: "Tests/Soak",
            swiftSettings: strict),
        // Storms of cancelled operations, which must leave nothing: make test-gio.
        .target(
            name: "CHeap", path: "Tests/GIOStorms/Heap",
            cSettings: [.treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra")]),
        .executableTarget(
            name: "grun-gio-storms", dependencies: ["GRunLoopGIO", "GRunLoop", "CGRunGIO", "CHeap", "TestSupport"],
            path: "Tests/GIOStorms/Storms", swiftSettings: strict),
        .testTarget(
            name: "GRunLoopTests",
            dependencies: [
                "GRunLoop", "GRunLoopDiagnostics", "CGRunDiagnostics", "GRunLoopMessagePorts", "CGRunMessagePorts",
                "GRunLoopC", "TestSupport", "CGRunGLib", "grun-test-child", "grun-async-main-child",
                "grun-main-executor-child", "grun-lock-check",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GRunLoopGIOTests", dependencies: ["GRunLoopGIO", "GRunLoop", "TestSupport", "CGRunGIO"],
            swiftSettings: strict),
        // XCTest, because its tests run on the process's real main thread.
        .testTarget(
            name: "MainThreadTests",
            dependencies: ["GRunLoop", "GRunLoopDiagnostics", "TestSupport", "CGRunGLib", "grun-test-child"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
