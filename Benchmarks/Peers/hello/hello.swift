// Prints the time of a loop's first callback, in Swift. Without a library, prints that of the program's first line.
import CHello

#if USE_GRUN
    import GRunLoop
    let peer = "grun"
#elseif USE_FOUNDATION
    import Foundation
    let peer = "foundation"
#else
    let peer = "swiftfloor"
#endif

hello_begin(CommandLine.argc, CommandLine.unsafeArgv, peer)

#if USE_GRUN
    GRunLoop.main.async { hello_end() }
    GRunLoop.main.run()
#elseif USE_FOUNDATION
    RunLoop.main.perform { hello_end() }
    RunLoop.main.run()
#else
    hello_end()
#endif
