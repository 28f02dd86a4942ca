// SPDX-License-Identifier: Apache-2.0
// Peer: Qt with QEventDispatcherGlib, its event dispatcher on GLib's main context. QCoreApplication::postEvent with an
// event that has a number, QTimer with a lambda that captures a number, and QSocketNotifier. "post-local-invoke" posts
// such a lambda by QMetaObject::invokeMethod, and "timers-create-id" uses QObject::startTimer.
#define PEER "qt"
#define TAKEN_UP look()
#define post_remote post
#include "cases.h"
#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <QThread>
#include <QTimer>
#include <vector>

static long sum, posted;

static void run()
{
    QCoreApplication::exec();
}

static void stop()
{
    QCoreApplication::quit();
}

static void look()
{
    QCoreApplication::processEvents();
}

static void require_glib(QThread *thread)
{
    QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance(thread);
    if (dispatcher && dispatcher->inherits("QEventDispatcherGlib"))
        return;
    fprintf(stderr, "qt: the dispatcher is not QEventDispatcherGlib\n");
    exit(2);
}

struct Posted : QEvent {
    long number;

    explicit Posted(long number) : QEvent(User), number(number)
    {
    }
};

// Calls a function for each posted event.
struct Receiver : QObject {
    void (*received)(long);

    explicit Receiver(void (*received)(long)) : received(received)
    {
    }

    bool event(QEvent *event) override
    {
        if (event->type() != QEvent::User)
            return QObject::event(event);
        received(static_cast<Posted *>(event)->number);
        return true;
    }
};

static Receiver *receiver;

static void post_number(long number)
{
    QCoreApplication::postEvent(receiver, new Posted(number));
}

static void post_again(long number)
{
    sum += number | 1;
    if (!stepped())
        post_number(number + 1);
}

static void post()
{
    post_number(posted++);
}

static void received(long number)
{
    sum += number | 1;
    counted();
}

static void wake()
{
    post_number(0);
}

static void invoke_again(long number)
{
    auto call = [number] {
        sum += number | 1;
        if (!counted())
            invoke_again(number + 1);
    };
    QMetaObject::invokeMethod(receiver, call, Qt::QueuedConnection);
}

static Receiver *there;

static void ping(long number)
{
    if (!counted())
        QCoreApplication::postEvent(there, new Posted(number));
}

static void play()
{
    QThread thread;
    receiver = new Receiver(ping);
    there = new Receiver(post_number);
    there->moveToThread(&thread);
    thread.start();
    usleep(20000);
    require_glib(&thread);
    begin_both();
    QCoreApplication::postEvent(there, new Posted(0));
    run();
    t1 = now_ns();
    report(CASE, N, each(t0, t1), "cpu_ns:%.1f", each(c0, cpu_ns()));
    thread.quit();
    thread.wait();
}

static void watch(int fd, long role)
{
    auto *notifier = new QSocketNotifier(fd, QSocketNotifier::Read);
    if (role == IDLE)
        QObject::connect(notifier, &QSocketNotifier::activated, [] {});
    else if (role == SERVED)
        QObject::connect(notifier, &QSocketNotifier::activated, served);
    else
        QObject::connect(notifier, &QSocketNotifier::activated, [role] { passed_on(role); });
}

static int far_away()
{
    return 3600000 + rng() % 3600000;
}

// Precise, because Qt fires a coarse timer up to 5 % too early or too late.
static QTimer *make_timer(int milliseconds)
{
    auto *timer = new QTimer;
    timer->setTimerType(Qt::PreciseTimer);
    timer->setInterval(milliseconds);
    return timer;
}

static QTimer *start_timer(int milliseconds, long number)
{
    QTimer *timer = make_timer(milliseconds);
    timer->setSingleShot(true);
    QObject::connect(timer, &QTimer::timeout, [number] { sum += number; });
    timer->start();
    return timer;
}

static std::vector<int> far_spans()
{
    std::vector<int> spans(N);
    for (int &span : spans)
        span = far_away();
    return spans;
}

static void create_timers()
{
    std::vector<int> spans = far_spans();
    std::vector<QTimer *> timers(N);
    begin_adding();
    for (long i = 0; i < N; i++)
        timers[i] = start_timer(spans[i], i);
    end_adding();
    // Memory is known now. Qt searches for each cancelled timer from the beginning of a list.
    if (IS("timers-create"))
        for (QTimer *timer : timers)
            delete timer;
    end_cancelling(nullptr);
}

static void create_ids()
{
    std::vector<int> ids = far_spans();
    CASE = "timers-create";
    begin_adding();
    for (int &id : ids)
        id = receiver->startTimer(id, Qt::PreciseTimer);
    end_adding();
    for (int id : ids)
        receiver->killTimer(id);
    end_cancelling(nullptr);
}

static void fire_timers()
{
    draw_deadlines(1000);
    for (long i = 0; i < N; i++) {
        QTimer *timer = make_timer((dl[i] - now_ns() + 999999) / 1000000);
        timer->setSingleShot(true);
        QObject::connect(timer, &QTimer::timeout, [i] { fired(dl[i]); });
        timer->start();
    }
    run_deadlines();
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    QCoreApplication application(argc, argv);
    require_glib(application.thread());
    receiver = new Receiver(IS("wake-latency") ? [](long) { noted(); } : received);
    if (IS("post-local") || IS("timers-idle-tax"))
        receiver->received = post_again;
    if (IS("post-local")) {
        post_number(0);
        run_local("postEvent");
    } else if (IS("post-local-invoke")) {
        invoke_again(0);
        run_local("invokeMethod");
    } else if (IS("pingpong")) {
        play();
    } else if (IS("timers-create") || IS("mem-timers")) {
        create_timers();
    } else if (IS("timers-create-id")) {
        create_ids();
    } else if (IS("timers-fire")) {
        fire_timers();
    } else if (IS("timers-idle-tax")) {
        for (long i = 0; i < N; i++)
            start_timer(far_away(), i);
        post_number(0);
        run_passes();
    } else if (IS("idle-wakeups") || IS("run-nowait")) {
        QTimer *timer = make_timer(IS("run-nowait") ? 3600000 : 1000);
        QObject::connect(timer, &QTimer::timeout, ticked);
        timer->start();
        run_ticks("processEvents");
    } else
        return run_rest();
    return 0;
}
