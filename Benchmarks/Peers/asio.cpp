// SPDX-License-Identifier: Apache-2.0
// Peer: asio without Boost. asio::post, asio::steady_timer, and asio::posix::stream_descriptor, whose async_read_some
// reads the byte of an event itself. The lambdas of posts and timers capture a number.
//
// A context that has neither timers nor descriptors has no epoll: it is a queue with a condition variable. So if the
// case's name ends with "-io", such as "post-local-io", each context has an idle timer.
#define PEER "asio"
#define TAKEN_UP look()
#define post_remote post
#include "cases.h"
#include <asio.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

// A hint of 1: one thread runs the context, and other threads may post to it.
static asio::io_context io(1);
static auto guard = asio::make_work_guard(io);
static long sum, posted;

static void run()
{
    io.restart();
    io.run();
}

static void stop()
{
    io.stop();
}

static void look()
{
    io.poll();
}

static void post_again(long number)
{
    asio::post(io, [number] {
        sum += number | 1;
        if (!stepped())
            post_again(number + 1);
    });
}

static void post()
{
    long number = posted++;
    asio::post(io, [number] {
        sum += number | 1;
        counted();
    });
}

static void wake()
{
    asio::post(io, noted);
}

static asio::io_context there(1);

static void pong()
{
    asio::post(there, [] {
        asio::post(io, [] {
            if (counted())
                there.stop();
            else
                pong();
        });
    });
}

static void *run_there(void *)
{
    pin_side(1);
    auto guard = asio::make_work_guard(there);
    there.run();
    return nullptr;
}

struct Watched {
    asio::posix::stream_descriptor descriptor;
    long role;
    char byte;

    void read()
    {
        descriptor.async_read_some(asio::buffer(&byte, 1), [this](asio::error_code error, size_t) {
            if (error || role == IDLE)
                return;
            if (role == SERVED)
                serve();
            else
                pass_on(role);
            read();
        });
    }
};

static void watch(int fd, long role)
{
    (new Watched{asio::posix::stream_descriptor(io, fd), role, 0})->read();
}

using Timer = asio::steady_timer;
using std::chrono::milliseconds;

static void start(Timer &timer, long number)
{
    timer.async_wait([number](asio::error_code error) {
        if (!error)
            sum += number;
    });
}

static milliseconds far_away()
{
    return milliseconds(3600000 + rng() % 3600000);
}

static void create_timers()
{
    std::vector<milliseconds> spans(N);
    std::vector<std::unique_ptr<Timer>> timers(N);
    for (auto &span : spans)
        span = far_away();
    begin_adding();
    for (long i = 0; i < N; i++) {
        timers[i] = std::make_unique<Timer>(io, spans[i]);
        start(*timers[i], i);
    }
    end_adding();
    timers.clear();
    // Calls the handlers of the cancelled timers, with an error.
    look();
    end_cancelling("incl_handlers");
}

static void fire_timers()
{
    draw_deadlines(1000);
    for (long i = 0; i < N; i++) {
        auto *timer = new Timer(io, Timer::time_point(std::chrono::nanoseconds(dl[i])));
        timer->async_wait([i](asio::error_code) { fired(dl[i]); });
    }
    run_deadlines();
}

static void tick(Timer &timer)
{
    timer.async_wait([&timer](asio::error_code) {
        ticked();
        timer.expires_at(timer.expiry() + std::chrono::seconds(1));
        tick(timer);
    });
}

// If the case's name ends with "-io", removes this ending, and gives each context an idle timer.
static void begin_io()
{
    std::string name = CASE;
    if (name.size() < 3 || name.compare(name.size() - 3, 3, "-io") != 0)
        return;
    CASE = strdup(name.substr(0, name.size() - 3).c_str());
    start(*new Timer(io, far_away()), 0);
    start(*new Timer(there, far_away()), 0);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    begin_io();
    if (IS("post-local")) {
        post_again(0);
        run_local("asio::post");
    } else if (IS("pingpong")) {
        pthread_t thread = begin_playing(run_there);
        pong();
        run();
        end_both(thread);
    } else if (IS("timers-create") || IS("mem-timers")) {
        create_timers();
    } else if (IS("timers-fire")) {
        fire_timers();
    } else if (IS("timers-idle-tax")) {
        for (long i = 0; i < N; i++)
            start(*new Timer(io, far_away()), i);
        post_again(0);
        run_passes();
    } else if (IS("idle-wakeups") || IS("run-nowait")) {
        Timer timer(io, std::chrono::seconds(IS("run-nowait") ? 3600 : 1));
        tick(timer);
        run_ticks("io_context::poll");
    } else
        return run_rest();
    return 0;
}
