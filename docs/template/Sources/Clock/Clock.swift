import GRunLoop

/// Counts seconds on the main actor.
@MainActor public final class Clock {
    public private(set) var seconds = 0
    private var timer: GRunLoop.Timer?

    public init() {}

    /// Calls the closure each second.
    public func start(_ onTick: @escaping @MainActor (Int) -> Void) {
        let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { @MainActor [weak self] timer in
            guard let self else { return timer.invalidate() }
            seconds += 1
            onTick(seconds)
        }
        GRunLoop.main.add(timer, forMode: .common)
        self.timer = timer
    }

    public func stop() { timer?.invalidate() }
}
