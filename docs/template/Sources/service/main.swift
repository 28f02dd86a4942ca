import Clock
import GRunLoop
import Glibc

let clock = Clock()
clock.start { seconds in print("\(seconds) s") }
let termination = try GRunLoop.SignalSource(SIGTERM) { @MainActor _, _ in
    clock.stop()
    GRunLoop.main.stop()
}
try GRunLoop.main.add(termination, forMode: .common)

print("ready")
fflush(nil)
GRunLoop.main.run()
print("ended after \(clock.seconds) s")
