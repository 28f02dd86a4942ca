// SPDX-License-Identifier: Apache-2.0
// Peer: tokio's current_thread runtime. tokio::spawn and Handle::spawn with an async block that captures a number,
// tokio::time::sleep, tokio::sync::Notify, and AsyncFd. Clocks, random numbers and the output line are bench.h's.
//
// A held timer is a Sleep in a box, without a callback. In "timers-create-task", it is a task that sleeps and then adds
// a number, and JoinHandle::abort cancels it.

#![deny(warnings)]

use std::ffi::CString;
use std::future::Future;
use std::os::raw::{c_char, c_int, c_long};
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until, Sleep};

#[link(name = "bench", kind = "static")]
extern "C" {
    fn bench_now() -> i64;
    fn bench_cpu() -> i64;
    fn bench_random() -> u64;
    fn bench_heap() -> c_long;
    fn bench_resident() -> c_long;
    fn bench_raise_descriptor_limit();
    fn bench_event() -> c_int;
    fn bench_pipe(ends: *mut c_int);
    fn bench_put(descriptor: c_int);
    fn bench_pin(side: c_int);
    fn bench_report(name: *const c_char, n: c_long, nanoseconds: f64, extra: *const c_char);
    fn bench_report_lateness(name: *const c_char, n: c_long, cpu: i64, late: *mut i64);
    fn bench_note_posted(number: c_long, at_once: bool);
    fn bench_report_latencies(name: *const c_char, n: c_long, latencies: *mut i64);
    fn bench_set_peer(peer: *const c_char);
    fn bench_begin_steps();
    fn bench_step() -> bool;
    fn bench_steps() -> c_long;
    fn bench_step_time() -> f64;
    fn read(descriptor: c_int, bytes: *mut u8, size: usize) -> isize;
}

fn now() -> i64 {
    unsafe { bench_now() }
}

fn cpu() -> i64 {
    unsafe { bench_cpu() }
}

fn random() -> u64 {
    unsafe { bench_random() }
}

fn put(descriptor: c_int) {
    unsafe { bench_put(descriptor) }
}

fn pipe() -> (OwnedFd, c_int) {
    let mut ends = [-1; 2];
    unsafe {
        bench_pipe(ends.as_mut_ptr());
        (OwnedFd::from_raw_fd(ends[0]), ends[1])
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap()
}

// The loop's thread uses these. Atomic variables that are loaded and stored cost no more than other variables.
static N: AtomicI64 = AtomicI64::new(0);
static COUNT: AtomicI64 = AtomicI64::new(0);
static SUM: AtomicI64 = AtomicI64::new(0);
static IN_STEPS: AtomicBool = AtomicBool::new(false);
static DELAYS: Mutex<Vec<i64>> = Mutex::new(Vec::new());
static DONE: Notify = Notify::const_new();

fn add(number: i64) {
    SUM.store(SUM.load(Relaxed).wrapping_add(number), Relaxed);
}

/// Counts one, or a measured step of a pass. At the last one, ends `DONE.notified()` and returns true.
fn counted() -> bool {
    let is_last = if IN_STEPS.load(Relaxed) {
        unsafe { !bench_step() }
    } else {
        let count = COUNT.load(Relaxed) + 1;
        COUNT.store(count, Relaxed);
        count >= N.load(Relaxed)
    };
    if is_last {
        DONE.notify_one();
    }
    is_last
}

fn note_delay(since: i64) {
    let delay = now() - since;
    DELAYS.lock().unwrap().push(delay);
}

fn begin_steps() {
    IN_STEPS.store(true, Relaxed);
    unsafe { bench_begin_steps() }
}

struct Bench {
    case: String,
    n: i64,
    runtime: Runtime,
}

fn new_runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn post_again(number: i64) {
    tokio::spawn(async move {
        add(number | 1);
        if !counted() {
            post_again(number + 1);
        }
    });
}

fn far_away() -> Duration {
    Duration::from_millis(3_600_000 + random() % 3_600_000)
}

/// Polls a timer once, so that it is in the runtime's wheel.
struct Armed<'a>(&'a mut Pin<Box<Sleep>>);

impl Future for Armed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        assert!(self.0.as_mut().poll(context).is_pending());
        Poll::Ready(())
    }
}

async fn add_timers(spans: &[Duration], timers: &mut Vec<Pin<Box<Sleep>>>) {
    for span in spans {
        let mut timer = Box::pin(sleep(*span));
        Armed(&mut timer).await;
        timers.push(timer);
    }
}

/// Reads `SIZE` bytes, and calls `ready`. A read of fewer bytes has emptied the pipe, so it clears the readiness, as in
/// tokio's own streams. If `SIZE` is 1, another read must find that the pipe is empty.
fn watch<const SIZE: usize>(descriptor: OwnedFd, ready: impl Fn() + 'static + Send) {
    let descriptor = AsyncFd::new(descriptor).unwrap();
    tokio::spawn(async move {
        let mut bytes = [0; SIZE];
        loop {
            let mut guard = descriptor.readable().await.unwrap();
            let size = unsafe { read(descriptor.as_raw_fd(), bytes.as_mut_ptr(), SIZE) };
            if size < SIZE as isize {
                guard.clear_ready();
            }
            if size > 0 {
                ready();
            }
        }
    });
}

impl Bench {
    fn report_as(&self, name: &str, nanoseconds: f64, extra: &str) {
        let (name, extra) = (c_string(name), c_string(extra));
        unsafe { bench_report(name.as_ptr(), self.n, nanoseconds, extra.as_ptr()) }
    }

    fn report(&self, nanoseconds: f64, extra: &str) {
        self.report_as(&self.case, nanoseconds, extra)
    }

    fn report_steps(&self, unit: &str) {
        unsafe { self.report(bench_step_time(), &format!("{}:{}", unit, bench_steps())) }
    }

    fn each(&self, from: i64, to: i64) -> f64 {
        (to - from) as f64 / self.n as f64
    }

    fn post_local(&self) {
        let begin = now();
        self.runtime.block_on(async {
            post_again(0);
            DONE.notified().await
        });
        self.report(self.each(begin, now()), "spawn");
    }

    fn post_burst(&self) {
        let begin = now();
        let middle = self.runtime.block_on(async {
            for number in 0..self.n {
                tokio::spawn(async move {
                    add(number | 1);
                    counted();
                });
            }
            let middle = now();
            DONE.notified().await;
            middle
        });
        let end = now();
        self.report(
            self.each(begin, end),
            &format!("enq:{:.1},drain:{:.1}", self.each(begin, middle), self.each(middle, end)),
        );
    }

    /// Another thread runs `other`, and the loop counts.
    fn run_both(&self, other: impl FnOnce() + Send + 'static) {
        let (begin, begin_cpu) = (now(), cpu());
        let thread = std::thread::spawn(other);
        self.runtime.block_on(DONE.notified());
        let (end, end_cpu) = (now(), cpu());
        thread.join().unwrap();
        self.report(self.each(begin, end), &format!("cpu_ns:{:.1}", self.each(begin_cpu, end_cpu)));
    }

    fn post_remote(&self) {
        let (n, handle) = (self.n, self.runtime.handle().clone());
        self.run_both(move || {
            unsafe { bench_pin(1) }
            for number in 0..n {
                handle.spawn(async move {
                    add(number | 1);
                    counted();
                });
            }
        });
    }

    /// A task on each of two runtimes, each woken by the other one's Notify.
    fn ping_pong(&self) {
        static HERE: Notify = Notify::const_new();
        static THERE: Notify = Notify::const_new();
        self.runtime.spawn(async {
            loop {
                HERE.notified().await;
                let is_last = counted();
                THERE.notify_one();
                if is_last {
                    return;
                }
            }
        });
        let n = self.n;
        self.run_both(move || {
            unsafe { bench_pin(1) }
            new_runtime().block_on(async {
                for _ in 0..n {
                    HERE.notify_one();
                    THERE.notified().await;
                }
            });
        });
    }

    fn wake_latency(&self) {
        static STAMP: AtomicI64 = AtomicI64::new(0);
        static SEEN: AtomicI64 = AtomicI64::new(0);
        let (n, handle) = (self.n, self.runtime.handle().clone());
        let thread = std::thread::spawn(move || {
            unsafe { bench_pin(1) }
            for number in 0..n {
                std::thread::sleep(Duration::from_micros(1000));
                STAMP.store(now(), SeqCst);
                handle.spawn(async {
                    note_delay(STAMP.load(SeqCst));
                    SEEN.fetch_add(1, SeqCst);
                    counted();
                });
                unsafe { bench_note_posted(number, SEEN.load(SeqCst) != number) }
                while SEEN.load(SeqCst) == number {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        });
        self.runtime.block_on(DONE.notified());
        thread.join().unwrap();
        let (name, mut delays) = (c_string(&self.case), DELAYS.lock().unwrap());
        unsafe { bench_report_latencies(name.as_ptr(), self.n, delays.as_mut_ptr()) }
    }

    fn create_timers(&self) {
        let spans: Vec<_> = (0..self.n).map(|_| far_away()).collect();
        let mut timers = Vec::with_capacity(spans.len());
        let (heap, resident) = unsafe { (bench_heap(), bench_resident()) };
        let begin = now();
        // Without a budget, a task may arm only 128 timers before it yields.
        self.runtime.block_on(tokio::task::unconstrained(add_timers(&spans, &mut timers)));
        let added = now();
        let (heap, resident) = unsafe { (bench_heap() - heap, bench_resident() - resident) };
        if self.case == "mem-timers" {
            let (heap, resident) = (self.each(0, heap), self.each(0, resident));
            return self.report(heap, &format!("bytes_heap:{:.1},bytes_rss:{:.1}", heap, resident));
        }
        let middle = now();
        timers.clear();
        let end = now();
        self.report_as("timers-create-add", self.each(begin, added), "sleep");
        self.report_as("timers-create-cancel", self.each(middle, end), "drop");
    }

    fn create_tasks(&self) {
        let spans: Vec<_> = (0..self.n).map(|_| far_away()).collect();
        let mut tasks = Vec::with_capacity(spans.len());
        self.runtime.block_on(async {
            let begin = now();
            for (span, number) in spans.into_iter().zip(0..) {
                tasks.push(tokio::spawn(async move {
                    sleep(span).await;
                    add(number);
                }));
            }
            // The tasks run in the order of their creation, so all of them sleep after this one.
            tokio::spawn(async {}).await.unwrap();
            let middle = now();
            for task in &tasks {
                task.abort();
            }
            tasks.clear();
            tokio::spawn(async {}).await.unwrap();
            let end = now();
            self.report_as("timers-create-add", self.each(begin, middle), "spawn");
            self.report_as("timers-create-cancel", self.each(middle, end), "abort");
        });
    }

    fn fire_timers(&self) {
        let first = now() + 100_000_000 + self.n * 1000;
        let epoch = tokio::time::Instant::from_std(Instant::now()) - Duration::from_nanos(now() as u64);
        self.runtime.block_on(async {
            for _ in 0..self.n {
                let deadline = first + (random() % 50_000_000) as i64;
                tokio::spawn(async move {
                    sleep_until(epoch + Duration::from_nanos(deadline as u64)).await;
                    note_delay(deadline);
                    counted();
                });
            }
            // All of these tasks sleep when this one is done.
            tokio::spawn(async {}).await.unwrap();
            let begin = cpu();
            DONE.notified().await;
            let end = cpu();
            let (name, mut delays) = (c_string(&self.case), DELAYS.lock().unwrap());
            unsafe { bench_report_lateness(name.as_ptr(), self.n, end - begin, delays.as_mut_ptr()) }
        });
    }

    fn timers_idle_tax(&self) {
        let spans: Vec<_> = (0..self.n).map(|_| far_away()).collect();
        let mut timers = Vec::new();
        self.runtime.block_on(tokio::task::unconstrained(add_timers(&spans, &mut timers)));
        begin_steps();
        self.runtime.block_on(async {
            post_again(0);
            DONE.notified().await
        });
        self.report_steps("passes");
    }

    fn descriptors_idle_tax(&self) {
        self.runtime.block_on(async {
            for _ in 0..self.n {
                watch::<16>(unsafe { OwnedFd::from_raw_fd(bench_event()) }, || {});
            }
            let (reader, writer) = pipe();
            watch::<16>(reader, move || {
                if !counted() {
                    put(writer);
                }
            });
            tokio::spawn(async {}).await.unwrap();
            put(writer);
            begin_steps();
            DONE.notified().await
        });
        self.report_steps("events");
    }

    /// With 100 tokens, some pipes have several. The other peers read them one by one. A task of tokio's reads them one
    /// after another, up to its budget, because the epoll is edge-triggered.
    fn descriptors_active(&self, tokens: usize) {
        let (readers, writers): (Vec<_>, Vec<_>) = (0..100).map(|_| pipe()).unzip();
        let time = self.runtime.block_on(async {
            for (index, reader) in readers.into_iter().enumerate() {
                let next = writers[(index + 1) % writers.len()];
                let pass_on = move || {
                    if !counted() {
                        put(next);
                    }
                };
                if tokens == 1 {
                    watch::<16>(reader, pass_on);
                } else {
                    watch::<1>(reader, pass_on);
                }
            }
            for writer in &writers[..tokens] {
                put(*writer);
            }
            let begin = now();
            DONE.notified().await;
            self.each(begin, now())
        });
        self.report(time, &format!("tokens:{}", tokens));
    }

    fn descriptors_memory(&self) {
        let descriptors: Vec<_> = (0..self.n).map(|_| unsafe { OwnedFd::from_raw_fd(bench_event()) }).collect();
        let (heap, resident) = unsafe { (bench_heap(), bench_resident()) };
        let begin = now();
        self.runtime.block_on(async {
            for descriptor in descriptors {
                watch::<16>(descriptor, || {});
            }
            tokio::spawn(async {}).await.unwrap();
        });
        let adding = self.each(begin, now());
        let (heap, resident) = unsafe { (bench_heap() - heap, bench_resident() - resident) };
        let (heap, resident) = (self.each(0, heap), self.each(0, resident));
        self.report(heap, &format!("bytes_heap:{:.1},bytes_rss:{:.1},add_ns:{:.0}", heap, resident, adding));
    }

    fn idle_wake_ups(&self) {
        self.runtime.block_on(async {
            let mut ticks = tokio::time::interval(Duration::from_secs(1));
            // The first tick is immediate, and the next one touches most of the code for the first time.
            ticks.tick().await;
            ticks.tick().await;
            let begin = cpu();
            for _ in 0..self.n {
                ticks.tick().await;
            }
            self.report(self.each(begin, cpu()), "cpu_ns_per_tick");
        });
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let (case, n) = (arguments[1].clone(), arguments[2].parse().unwrap());
    N.store(n, Relaxed);
    let name = c_string("tokio");
    unsafe {
        bench_set_peer(name.as_ptr());
        bench_pin(0);
        bench_raise_descriptor_limit();
    }
    let bench = Bench { case: case.clone(), n, runtime: new_runtime() };
    match case.as_str() {
        "post-local" => bench.post_local(),
        "post-burst" => bench.post_burst(),
        "post-remote" => bench.post_remote(),
        "pingpong" => bench.ping_pong(),
        "wake-latency" => bench.wake_latency(),
        "timers-create" | "mem-timers" => bench.create_timers(),
        "timers-create-task" => bench.create_tasks(),
        "timers-fire" => bench.fire_timers(),
        "timers-idle-tax" => bench.timers_idle_tax(),
        "fds-idle-tax" => bench.descriptors_idle_tax(),
        "fds-active" => bench.descriptors_active(100),
        "fds-active-1" => bench.descriptors_active(1),
        "mem-fds" => bench.descriptors_memory(),
        "idle-wakeups" => bench.idle_wake_ups(),
        _ => {
            println!("peer=tokio case={} n={} ns_per_op=NA extra=unsupported", case, n);
            std::process::exit(3);
        }
    }
}
