#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as PyGObject sees it: loops, timers, sources, descriptors, observers, modes, errors, and a GLib main loop as the host."""
import os
import threading
import unittest

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

PRIVATE = "com.example.private"


class OnOwnThread(unittest.TestCase):
    """Each test has a thread of its own, and so a loop that nothing else is in."""

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
        thread.join()
        with self.assertRaises(GLib.Error):
            thread.get_loop().perform_and_wait(GRun.MODE_COMMON, lambda: None)


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


if __name__ == "__main__":
    unittest.main()
