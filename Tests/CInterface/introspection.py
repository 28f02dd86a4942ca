# SPDX-License-Identifier: Apache-2.0
"""The library as PyGObject sees it: loops, timers, sources, descriptors, observers, modes, errors, Ctrl-C, and a GLib
main loop as the host, asyncio."""
import asyncio
import contextlib
import copy
import keyword
import os
import pydoc
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

PRIVATE = "com.example.private"


class OnOwnThread(unittest.TestCase):
    """Runs each test on a new thread, whose loop holds no other items."""

    def run(self, result=None):
        thread = threading.Thread(target=super().run, args=(result,))
        thread.start()
        thread.join()

    def setUp(self):
        self.loop = GRun.Loop.get_current()


class Timers(OnOwnThread):
    def test_repeats_until_it_answers_remove(self):
        fires = []

        def fire(timer):
            fires.append(timer.is_valid())
            return len(fires) < 3

        timer = GRun.Timer.new(0.001, True, fire)
        self.loop.add_timer(timer, GRun.MODE_DEFAULT)
        self.assertEqual(self.loop.run(), GRun.Result.FINISHED)
        self.assertEqual(fires, [True, True, True])
        self.assertFalse(timer.is_valid())
        self.assertEqual(timer.get_next_fire_date(), -1)

    def test_moves(self):
        timer = GRun.Timer.new_at(GLib.get_monotonic_time() + 10**10, 0, lambda timer: False)
        self.loop.add_timer(timer, PRIVATE)
        self.assertTrue(self.loop.contains_timer(timer, PRIVATE))
        timer.set_next_fire_date(0)
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)

    def test_in_virtual_time(self):
        fires = []

        def day(loop):
            timer = GRun.Timer.new(3600, True, lambda timer: fires.append(loop.get_time()) or True)
            loop.add_timer(timer, PRIVATE)
            loop.advance_time(86400, PRIVATE)

        GRun.with_virtual_time(0, day)
        self.assertEqual(fires, [hour * 3600 * 10**6 for hour in range(1, 25)])


    def test_delayed_call_is_cancelled_by_its_number(self):
        called = []
        first = self.loop.perform_after(0, PRIVATE, lambda: called.append("first"))
        second = self.loop.perform_after(0, PRIVATE, lambda: called.append("second"))
        self.assertTrue(self.loop.cancel_perform(first))
        self.assertFalse(self.loop.cancel_perform(first))
        self.assertFalse(self.loop.cancel_perform(0))
        self.loop.run_in_mode(PRIVATE, 0, False)
        self.assertEqual(called, ["second"])
        self.assertFalse(self.loop.cancel_perform(second))

    def test_of_no_length(self):
        with self.assertRaisesRegex(ValueError, "GRun.Timer.new: seconds is NaN"):
            GRun.Timer.new(float("nan"), True, lambda timer: True)
        with self.assertRaisesRegex(ValueError, "GRun.Timer.new_at: seconds is NaN"):
            GRun.Timer.new_at(0, float("nan"), lambda timer: True)


class Sources(OnOwnThread):
    def test_signalled_by_another_thread(self):
        performed = []
        source = GRun.Source.new(0, lambda source: performed.append(self.loop.copy_current_mode()) or True)
        self.loop.add_source(source, PRIVATE)

        def produce():
            source.signal()
            self.loop.wake_up()

        threading.Thread(target=produce).start()
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, True), GRun.Result.HANDLED_SOURCE)
        self.assertEqual(performed, [PRIVATE])

    def test_descriptor(self):
        reader, writer = os.pipe()
        found = []

        def read(source, condition):
            found.append((os.read(source.get_fd(), 16), condition))
            return False

        source = GRun.FdSource.new(reader, GLib.IOCondition.IN, read)
        self.assertTrue(self.loop.add_fd_source(source, PRIVATE))
        os.write(writer, b"hello")
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, True), GRun.Result.HANDLED_SOURCE)
        self.assertEqual(found, [(b"hello", GLib.IOCondition.IN)])
        os.close(reader)
        os.close(writer)

    def test_child(self):
        ends = []
        child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], os.environ)
        source = GRun.ChildSource.new(child, lambda source, status, error: ends.append((status, error)))
        self.assertEqual(source.get_pid(), child)
        self.assertTrue(self.loop.add_child_source(source, PRIVATE))
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)
        self.assertEqual([(os.waitstatus_to_exitcode(status), error) for status, error in ends], [(3, None)])
        with self.assertRaises(GLib.Error) as caught:
            GRun.ChildSource.new(child, lambda source, status, error: None)
        self.assertTrue(caught.exception.matches(GRun.error_quark(), GRun.Error.NOT_A_CHILD))

    def test_ctrl_c_is_pythons_unless_it_is_taken_over(self):
        before = signal.getsignal(signal.SIGINT)
        with self.assertRaises(GLib.Error) as caught:
            GRun.SignalSource.new(signal.SIGINT, False, lambda source, count: True)
        self.assertTrue(caught.exception.matches(GRun.error_quark(), GRun.Error.SIGNAL_HANDLED))
        counts = []
        source = GRun.SignalSource.new(signal.SIGINT, True, lambda source, count: counts.append(count) or False)
        self.assertTrue(self.loop.add_signal_source(source, PRIVATE))
        os.kill(os.getpid(), signal.SIGINT)
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)
        self.assertEqual(counts, [1])
        # The signal is Python's again.
        self.assertFalse(source.is_valid())
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(GLib.Error):
            GRun.SignalSource.new(signal.SIGINT, False, lambda source, count: True)

    def test_errors(self):
        source = GRun.FdSource.new(10000, GLib.IOCondition.IN, lambda source, condition: True)
        with self.assertRaises(GLib.Error) as caught:
            self.loop.add_fd_source(source, PRIVATE)
        self.assertTrue(caught.exception.matches(GRun.error_quark(), GRun.Error.BAD_DESCRIPTOR))


class Observers(OnOwnThread):
    def test_stages(self):
        stages = []
        observer = GRun.Observer.new(GRun.Activity.ALL, True, 0, lambda observer, stage: stages.append(stage) or True)
        self.loop.add_observer(observer, PRIVATE)
        self.loop.perform_block(PRIVATE, lambda: None)
        self.loop.run_in_mode(PRIVATE, 0, False)
        self.assertEqual(
            stages,
            [GRun.Activity.ENTRY, GRun.Activity.BEFORE_TIMERS, GRun.Activity.BEFORE_SOURCES, GRun.Activity.EXIT])
        self.assertEqual(observer.get_activities(), GRun.Activity.ALL)


class IdleWork(OnOwnThread):
    def test_one_a_pass(self):
        calls = []
        queue = GRun.IdleQueue.new(0)
        self.loop.add_idle_queue(queue, PRIVATE)
        for number in range(3):
            self.assertTrue(queue.enqueue(lambda number=number: calls.append(number)))
        self.assertEqual(queue.get_length(), 3)
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)
        self.assertEqual(calls, [0, 1, 2])
        queue.invalidate()
        self.assertFalse(queue.enqueue(lambda: None))


class Notifications(OnOwnThread):
    def test_asap_before_idle_and_once(self):
        posted = []
        queue = GRun.NotificationQueue.new(self.loop)
        added = queue.add_func(None, None, lambda name, sender, data: posted.append((name, data and data.get_data())))
        both = GRun.Coalescing.ON_NAME | GRun.Coalescing.ON_SENDER
        idle, asap, now = GRun.PostingStyle.WHEN_IDLE, GRun.PostingStyle.ASAP, GRun.PostingStyle.NOW
        for number in range(3):
            self.assertTrue(queue.enqueue("save", None, GLib.Bytes.new(b"%d" % number), idle, both, [PRIVATE]))
            self.assertTrue(queue.enqueue("layout", None, None, asap, both, [PRIVATE]))
        self.assertEqual(queue.get_length(), 2)
        self.assertTrue(queue.enqueue("warning", None, None, now, both, None))
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)
        self.assertEqual(posted, [("warning", None), ("layout", None), ("save", b"2")])
        queue.enqueue("save", None, None, idle, both, [PRIVATE])
        self.assertEqual(queue.dequeue("save", None, both), 1)
        self.assertTrue(queue.remove_func(added))
        self.assertFalse(queue.remove_func(added))


class Channels(OnOwnThread):
    def setUp(self):
        super().setUp()
        self.undelivered = []
        self.channel = GRun.Channel.new_for_values(16, self.undelivered.append)
        self.came = []

    def receive(self):
        self.channel.receive_values(self.loop, PRIVATE, self.came.append)
        self.loop.run_in_mode(PRIVATE, 0, False)
        return self.came

    def test_carries_any_value(self):
        class Anything:
            pass

        values = [
            1, -2**31, 2**40, 2**70, 1.5, "text", True, None, b"bytes", [1, None], {"key": 1}, Anything(), Anything,
            GLib.Variant("s", "text"), GRun.Result.STOPPED]
        for value in values:
            self.assertEqual(self.channel.send_value(value), GRun.SendResult.ENQUEUED)
        self.assertEqual(self.channel.get_count(), len(values))
        self.assertEqual(self.receive(), values)

    def test_of_another_thread(self):
        self.receive()

        def send():
            for number in range(100):
                while self.channel.send_value(number) == GRun.SendResult.FULL:
                    time.sleep(0.001)
            self.channel.close()

        thread = threading.Thread(target=send)
        thread.start()
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, False), GRun.Result.FINISHED)
        thread.join()
        self.assertEqual(self.came, list(range(100)))
        self.assertEqual(self.channel.send_value(1), GRun.SendResult.CLOSED)

    def test_gives_back_what_is_not_delivered(self):
        for number in range(16):
            self.assertEqual(self.channel.send_value([number]), GRun.SendResult.ENQUEUED)
        self.assertEqual(self.channel.send_value(16), GRun.SendResult.FULL)
        self.channel.invalidate()
        self.assertEqual(self.undelivered, [[number] for number in range(16)])
        # Without a function, the values are freed.
        value = [1]
        references = sys.getrefcount(value)
        channel = GRun.Channel.new_for_values(1)
        channel.send_value(value)
        self.assertEqual(sys.getrefcount(value), references + 1)
        channel.invalidate()
        self.assertEqual(sys.getrefcount(value), references)


class Ports(OnOwnThread):
    def test_message(self):
        came = []

        def take(message):
            came.append((message.get_id(), message.get_bytes(0).get_data(), message.get_reply_port()))

        port, reply = GRun.Port.new(2, take), GRun.Port.new(1, None)
        self.loop.add_port(port, PRIVATE)
        message = GRun.PortMessage.new(7)
        message.add_bytes(GLib.Bytes.new(b"hello"))
        message.add_port(reply)
        message.set_reply_port(reply)
        self.assertIsNone(message.get_bytes(1))
        self.assertIsNone(message.get_receive_port())
        self.assertTrue(port.send(message) and port.send_before(message, 0))
        self.assertFalse(port.send(message))
        for _ in range(2):
            self.assertEqual(self.loop.run_in_mode(PRIVATE, 60, True), GRun.Result.HANDLED_SOURCE)
        self.assertEqual([each[:2] for each in came], [(7, b"hello")] * 2)
        self.assertTrue(came[0][2].is_valid())
        notices = []
        port.add_invalidation_func(lambda port: notices.append(port.is_valid()))
        port.invalidate()
        self.assertEqual(notices, [False])
        self.assertFalse(port.send(message))


class MessagePorts(OnOwnThread):
    """Both sides are in one process. message-service.py and message-client.py test two processes."""

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        patch = unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory.name)
        patch.start()
        self.addCleanup(patch.stop)

    def test_returns_the_reply(self):
        came = []

        def repeat(port, message):
            came.append((port.copy_name(), message.get_id(), message.get_data().get_data()))
            return message.get_data() if message.get_id() else None

        port = GRun.MessagePort.new_replying("org.example.echo", repeat)
        self.assertTrue(self.loop.add_message_port(port, PRIVATE))
        remote = GRun.RemoteMessagePort.look_up("org.example.echo")
        reply = remote.request(7, GLib.Bytes.new(b"hello"), None, 1, 10, PRIVATE)
        self.assertEqual((reply.get_id(), reply.get_data().get_data()), (7, b"hello"))
        # The replies share the data of the messages, and must be freed.
        large = b"x" * 100000
        for _ in range(3):
            reply = remote.request(1, GLib.Bytes.new(large), None, 1, 10, PRIVATE)
            self.assertEqual(reply.get_data().get_data(), large)
        self.assertFalse(remote.request(0, None, None, 1, 10, PRIVATE).get_data().get_data())
        self.assertEqual(came[0], ("org.example.echo", 7, b"hello"))
        self.assertTrue(remote.send(-1, None, None, 0, None))
        while len(came) < 6:
            self.loop.run_in_mode(PRIVATE, 60, True)
        self.assertEqual(came[-1][1], -1)
        notices = []
        remote.add_invalidation_func(lambda port: notices.append(port.copy_name()))
        port.invalidate()
        self.assertFalse(remote.is_valid())
        self.assertEqual(notices, ["org.example.echo"])

    def test_replies_later_with_descriptors(self):
        kept = []
        port = GRun.MessagePort.new(None, lambda port, message: kept.append((message, message.take_fds())))
        port.set_name("org.example.later")
        self.loop.add_message_port(port, PRIVATE)
        remote = GRun.RemoteMessagePort.look_up("org.example.later")
        reader, writer = os.pipe()
        replies = []

        def ask():
            replies.append(remote.request(1, None, [writer], 1, 60, PRIVATE).take_fds())

        thread = threading.Thread(target=ask)
        thread.start()
        while not kept:
            self.loop.run_in_mode(PRIVATE, 60, True)
        (message, (copy,)), = kept
        self.assertTrue(message.wants_reply())
        os.write(copy, b"x")
        self.assertEqual(os.read(reader, 1), b"x")
        self.assertTrue(message.reply(None, [reader, writer]))
        thread.join()
        self.assertEqual(len(replies[0]), 2)
        for descriptor in [reader, writer, copy, *replies[0]]:
            os.close(descriptor)
        port.invalidate()

    def test_errors(self):
        port = GRun.MessagePort.new("org.example.taken", lambda port, message: None)
        with self.assertRaises(GLib.Error) as caught:
            GRun.MessagePort.new("org.example.taken", lambda port, message: None)
        self.assertTrue(caught.exception.matches(GRun.error_quark(), GRun.Error.NAME_TAKEN))
        with self.assertRaises(GLib.Error) as caught:
            GRun.RemoteMessagePort.look_up("org.example.nobody")
        self.assertTrue(caught.exception.matches(GRun.error_quark(), GRun.Error.NOT_FOUND))
        self.loop.add_message_port(port, PRIVATE)
        remote = GRun.RemoteMessagePort.look_up("org.example.taken")
        # The function does not keep the message, so the message is released, and the request fails.
        with self.assertRaises(GLib.Error) as caught:
            remote.request(1, None, None, 1, 60, PRIVATE)
        self.assertTrue(caught.exception.matches(
            GRun.message_request_error_quark(), GRun.MessageRequestError.UNANSWERED))
        port.invalidate()


class Modes(OnOwnThread):
    def test_an_item_waits_for_its_mode(self):
        calls = []
        self.loop.perform_block(PRIVATE, lambda: calls.append("private"))
        self.loop.run_in_mode(GRun.MODE_DEFAULT, 0, False)
        self.assertEqual(calls, [])
        self.loop.run_in_mode(PRIVATE, 0, False)
        self.assertEqual(calls, ["private"])
        self.assertIn(PRIVATE, self.loop.copy_all_modes())

    def test_common(self):
        source = GRun.Source.new(0, lambda source: True)
        self.loop.add_source(source, GRun.MODE_COMMON)
        self.assertFalse(self.loop.contains_source(source, PRIVATE))
        self.loop.add_common_mode(PRIVATE)
        self.assertTrue(self.loop.contains_source(source, PRIVATE))

    def test_contexts(self):
        context = GLib.MainContext.new()
        self.loop.add_context(context, PRIVATE)
        self.assertTrue(self.loop.contains_context(context, PRIVATE))
        self.assertEqual(len(self.loop.copy_contexts(PRIVATE)), 1)


class Threads(OnOwnThread):
    def test_performs_there_and_waits(self):
        names = []
        thread = GRun.Thread.new("worker", lambda loop: names.append("set up"))
        thread.get_loop().perform_and_wait(GRun.MODE_COMMON, lambda: names.append("performed"))
        self.assertEqual(names, ["set up", "performed"])
        thread.stop()
        thread.wait()
        with self.assertRaises(GLib.Error):
            thread.get_loop().perform_and_wait(GRun.MODE_COMMON, lambda: None)

    def test_its_end(self):
        names = []
        thread = GRun.Thread.new("worker")
        loop = thread.get_loop()
        loop.add_end_func(lambda: names.append("first"))
        removed = loop.add_end_func(lambda: names.append("removed"))
        loop.add_end_func(lambda: names.append("last"))
        self.assertTrue(loop.remove_end_func(removed))
        thread.stop()
        thread.wait()
        self.assertEqual(names, ["last", "first"])
        with self.assertRaises(GLib.Error):
            loop.add_end_func(lambda: None)


class Names(unittest.TestCase):
    def test_are_documented(self):
        for function, words in [
                (GRun.Timer.get_interval, "the seconds between two dates of the timer"),
                (GRun.Timer.new, "GRun.Loop.add_timer()"),
                (GRun.Loop.run, "Raises KeyboardInterrupt"),
                (GRun.Loop.get_main().stop, "GRun.Result.STOPPED"),
                (GRun.Channel.send_value, "GRun.SendResult.ENQUEUED"),
                (GRun.RemoteMessagePort.request, "Raises GLib.Error"),
                (GRun.with_virtual_time, "virtual"),
                (GRun.Timer, "called at a point in time")]:
            self.assertIn(words, pydoc.plain(pydoc.render_doc(function)).replace("\n", " "))

    def test_can_be_said(self):
        said = [name for holder in [GRun] + [getattr(GRun, name) for name in dir(GRun)] for name in dir(holder)]
        self.assertIn("post", said)
        self.assertEqual([name for name in said if keyword.iskeyword(name)], [])


class Signals(unittest.TestCase):
    """Signals on the main thread, where Python handles them."""

    def setUp(self):
        self.loop = GRun.Loop.get_main()
        # The timer keeps the mode from being empty.
        self.timer = GRun.Timer.new(3600, True, lambda timer: True)
        self.loop.add_timer(self.timer, PRIVATE)

    def tearDown(self):
        self.timer.invalidate()

    def watch(self):
        """Ends the process if a signal does not end the run in time."""

        def give_up():
            print(f"{self.id()}: the signal has not ended the run", file=sys.stderr)
            os._exit(1)

        watchdog = threading.Timer(60, give_up)
        watchdog.start()
        self.addCleanup(watchdog.cancel)

    def sending(self, number, depth=1):
        """Sends a signal as soon as the loop sleeps inside `depth` nested runs."""
        self.depth = 1
        self.watch()

        def send():
            while not (self.loop.is_waiting() and self.depth == depth):
                time.sleep(0.001)
            os.kill(os.getpid(), number)

        self.sender = threading.Thread(target=send)
        self.sender.start()
        self.addCleanup(self.sender.join)

    def test_control_c_ends_every_run_that_waits(self):
        never = GLib.MAXINT64
        for run in [
                lambda: self.loop.run(),
                lambda: self.loop.run_in_mode(GRun.MODE_DEFAULT, 3600, False),
                lambda: self.loop.run_in_mode(PRIVATE, 3600, False),
                lambda: self.loop.run_in_mode(PRIVATE, float("inf"), True),
                lambda: self.loop.run_in_mode_usec(PRIVATE, never, False),
                lambda: self.loop.run_until_finished(),
                lambda: self.loop.run_until_date(GLib.get_monotonic_time() + 3600 * 10**6),
                lambda: self.loop.run_mode_before_date(PRIVATE, never),
                lambda: self.loop.accept_input(PRIVATE, never)]:
            self.sending(signal.SIGINT)
            with self.assertRaises(KeyboardInterrupt):
                run()
            self.doCleanups()
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertEqual(signal.set_wakeup_fd(-1), -1)

    def test_control_c_ends_a_request_and_a_message_that_waits(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        patch = unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory.name)
        patch.start()
        self.addCleanup(patch.stop)
        # No code runs the mode of the port.
        port = GRun.MessagePort.new("org.example.silent", lambda port, message: None)
        self.loop.add_message_port(port, "nobody's")
        self.addCleanup(port.invalidate)
        remote = GRun.RemoteMessagePort.look_up("org.example.silent")

        def fill():
            while remote.send(1, None, None, 0, None):
                pass

        with self.assertRaises(GLib.Error):
            fill()
        for call in [
                lambda: remote.request(1, None, None, 3600, 3600, PRIVATE),
                lambda: remote.send(1, None, None, 3600, PRIVATE)]:
            self.sending(signal.SIGINT)
            with self.assertRaises(KeyboardInterrupt):
                call()
            self.sender.join()
        begin = time.monotonic()
        with self.assertRaises(GLib.Error) as caught:
            remote.send(1, None, None, 0.3, PRIVATE)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        self.assertTrue(caught.exception.matches(
            GRun.message_request_error_quark(), GRun.MessageRequestError.SEND_TIMEOUT))

    def test_a_request_ends_at_its_limits(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        patch = unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.watch()
        port = GRun.MessagePort.new("org.example.slow", lambda port, message: kept.append(message))
        kept = []
        self.addCleanup(port.invalidate)
        self.loop.add_message_port(port, PRIVATE)
        remote = GRun.RemoteMessagePort.look_up("org.example.slow")
        with self.assertRaises(GLib.Error) as caught:
            remote.request(1, None, None, 1, 0.05, PRIVATE)
        self.assertTrue(caught.exception.matches(
            GRun.message_request_error_quark(), GRun.MessageRequestError.RECEIVE_TIMEOUT))
        self.assertEqual(len(kept), 1)

    def nested(self, results):
        def run():
            self.depth = 2
            results.append(self.loop.run_in_mode(PRIVATE, 3600, False))

        return run

    def test_control_c_ends_the_runs_around_it(self):
        results = []
        self.loop.post(GRun.MODE_DEFAULT, self.nested(results))
        self.sending(signal.SIGINT, depth=2)
        with self.assertRaises(KeyboardInterrupt):
            self.loop.run()
        self.assertEqual(results, [GRun.Result.STOPPED])

    def test_control_c_ends_a_host_around_it(self):
        results = []
        self.loop.post(GRun.MODE_DEFAULT, self.nested(results))
        self.sending(signal.SIGINT, depth=2)
        with self.assertRaises(KeyboardInterrupt):
            GLib.MainLoop().run()
        self.assertEqual(results, [GRun.Result.STOPPED])

    def test_a_signal_before_the_run_counts(self):
        library = GRun.Loop.__mro__[1]
        run_in_mode = library.run_in_mode
        handlers = []

        def interrupted(loop, *arguments):
            os.kill(os.getpid(), signal.SIGINT)
            handlers.append(signal.getsignal(signal.SIGINT))
            return run_in_mode(loop, *arguments)

        self.watch()
        with unittest.mock.patch.object(library, "run_in_mode", interrupted), self.assertRaises(KeyboardInterrupt):
            self.loop.run_in_mode(PRIVATE, 3600, False)
        self.assertNotEqual(handlers, [signal.default_int_handler])

    def test_handlers_are_called_while_the_loop_sleeps(self):
        modes = []
        theirs, ours = socket.socketpair()
        theirs.setblocking(False)
        ours.settimeout(60)
        former = signal.set_wakeup_fd(theirs.fileno())
        self.addCleanup(signal.set_wakeup_fd, former)

        def handle(number, frame):
            modes.append(self.loop.copy_current_mode())
            self.loop.stop()

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handle))
        self.sending(signal.SIGUSR1)
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 3600, False), GRun.Result.STOPPED)
        self.doCleanups()
        self.assertEqual(modes, [PRIVATE])
        # Other listeners on the wake-up descriptor also get the signal.
        self.assertEqual(ours.recv(1), bytes([signal.SIGUSR1]))
        theirs.close()
        ours.close()

    def test_waiting_for_signals_keeps_no_mode(self):
        self.timer.invalidate()
        self.assertEqual(self.loop.run_in_mode(PRIVATE, 3600, False), GRun.Result.FINISHED)


try:
    import gi.events
except ImportError:
    print("asyncio is left out: gi.events came with PyGObject 3.50", file=sys.stderr)
else:

    class Asyncio(unittest.TestCase):
        """asyncio's tasks in an event loop that uses the main loop's home context."""

        def setUp(self):
            if hasattr(gi.events.GLibEventLoop, "__enter__"):
                self.events = gi.events.GLibEventLoop()
                self.enterContext(self.events)
                self.addCleanup(self.events.close)
            else:
                # Python 3.16 removes policies.
                former = asyncio.get_event_loop_policy()
                self.addCleanup(asyncio.set_event_loop_policy, former)
                policy = gi.events.GLibEventLoopPolicy()
                asyncio.set_event_loop_policy(policy)
                self.events = policy.get_event_loop()
            self.loop = GRun.Loop.get_main()
            self.timer = GRun.Timer.new(3600, True, lambda timer: True)
            self.loop.add_timer(self.timer, GRun.MODE_DEFAULT)
            self.addCleanup(self.timer.invalidate)

        async def work(self):
            self.steps = []
            for number in range(3):
                await asyncio.sleep(0.001)
                self.steps.append((number, self.loop.copy_current_mode()))
            self.loop.stop()

        def test_goes_on_in_every_run(self):
            for run in [
                    lambda: self.loop.run(),
                    lambda: self.loop.run_in_mode(GRun.MODE_DEFAULT, 60, False),
                    lambda: self.loop.run_in_mode_usec(GRun.MODE_DEFAULT, 60 * 10**6, False)]:
                task = self.events.create_task(self.work())
                self.assertEqual(run(), GRun.Result.STOPPED)
                self.assertEqual(self.steps, [(number, GRun.MODE_DEFAULT) for number in range(3)])
                self.assertFalse(self.events.is_running())
                # The task ends in the next run, which does not wait.
                self.loop.run_in_mode(GRun.MODE_DEFAULT, 0, False)
                self.assertTrue(task.done())

        @contextlib.contextmanager
        def events_of_thread(self):
            if hasattr(gi.events.GLibEventLoop, "__enter__"):
                events = gi.events.GLibEventLoop(GLib.MainContext())
                with events:
                    yield events
            else:
                policy = asyncio.get_event_loop_policy()
                events = policy.new_event_loop()
                policy.set_event_loop(events)
                yield events
                policy.set_event_loop(None)

        def test_goes_on_on_another_thread(self):
            def body():
                with self.events_of_thread() as events:
                    self.loop = GRun.Loop.get_current()
                    timer = GRun.Timer.new(3600, True, lambda timer: True)
                    self.loop.add_timer(timer, GRun.MODE_DEFAULT)
                    task = events.create_task(self.work())
                    results.append(self.loop.run_in_mode(GRun.MODE_DEFAULT, 60, False))
                    events.run_until_complete(task)
                    events.close()
                    # A run beside a closed event loop.
                    results.append(self.loop.run_in_mode(GRun.MODE_DEFAULT, 0.001, False))
                    timer.invalidate()

            results = []
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
            self.assertEqual(results, [GRun.Result.STOPPED, GRun.Result.TIMED_OUT])
            self.assertEqual(self.steps, [(number, GRun.MODE_DEFAULT) for number in range(3)])

        def test_drives_the_loop(self):
            async def work():
                source = GRun.Source.new(0, lambda source: done.set_result(self.loop.copy_current_mode()) or True)
                self.loop.add_source(source, GRun.MODE_COMMON)
                self.addCleanup(source.invalidate)
                done = self.events.create_future()
                source.signal()
                self.loop.wake_up()
                return await done

            self.assertEqual(self.events.run_until_complete(work()), GRun.MODE_DEFAULT)

        def test_ticks(self):
            async def work():
                numbers = []
                async with contextlib.aclosing(self.loop.ticks(0.002)) as ticks:
                    async for number in ticks:
                        numbers.append(number)
                        if number >= 3:
                            break
                return numbers

            numbers = self.events.run_until_complete(work())
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertGreaterEqual(numbers[-1], 3)

        def test_control_c(self):
            async def work():
                await asyncio.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)

            task = self.events.create_task(work())
            with self.assertRaises(KeyboardInterrupt):
                self.loop.run()
            self.loop.run_in_mode(GRun.MODE_DEFAULT, 0, False)
            self.assertTrue(task.done())


class Host(unittest.TestCase):
    def test_a_main_loop_of_glib_serves_it(self):
        host, loop, modes = GLib.MainLoop(), GRun.Loop.get_main(), []

        def fire(timer):
            modes.append(loop.copy_current_mode())
            if len(modes) == 2:
                host.quit()
            elif len(modes) == 1:
                token.append(loop.push_ambient_mode(GRun.MODE_TRACKING))
            return len(modes) < 2

        token = []
        loop.add_timer(GRun.Timer.new(0.001, True, fire), GRun.MODE_COMMON)
        host.run()
        loop.pop_ambient_mode(token[0])
        self.assertEqual(modes, [GRun.MODE_DEFAULT, GRun.MODE_TRACKING])

    def test_an_ambient_mode_lasts_as_long_as_its_block(self):
        loop = GRun.Loop.get_main()
        with self.assertRaises(ZeroDivisionError), loop.ambient_mode(GRun.MODE_TRACKING):
            self.assertEqual(loop.copy_ambient_mode(), GRun.MODE_TRACKING)
            raise ZeroDivisionError
        self.assertEqual(loop.copy_ambient_mode(), GRun.MODE_DEFAULT)

    def test_a_function_can_be_copied(self):
        self.assertEqual(copy.copy(GRun.Loop.wake_up).__name__, "wake_up")


if __name__ == "__main__":
    unittest.main()
