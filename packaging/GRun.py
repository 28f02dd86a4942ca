# SPDX-License-Identifier: Apache-2.0
"""What PyGObject adds to the library (gi.overrides.GRun).

Ctrl-C ends a run on the main thread as it ends GLib.MainLoop.run(): the innermost run is stopped, then those around
it, and KeyboardInterrupt is raised where the outermost was called. Handlers of signal.signal() are called while a loop
sleeps. Calls that do not wait pay nothing for it.
"""
import contextlib
import functools
import math
import os
import signal
import socket
import threading

from gi._ossighelper import register_sigint_fallback
from gi.module import get_introspection_module
from gi.overrides import override
from gi.repository import GLib

GRun = get_introspection_module("GRun")
__all__ = ["Loop", "Timer"]


class _Signals:
    """Has something called in the innermost run after each signal: Python calls its handlers where its main thread
    executes any code of Python.

    A thread waits for the signals: a source would keep the mode from being finished, and no context of GLib's is served
    in every mode. It is started by the first run that waits, and stays.
    """

    def __init__(self):
        self._received, self._sent = socket.socketpair()
        self._sent.setblocking(False)
        # Innermost last.
        self._runs = []
        threading.Thread(target=self._wait, name="GRun signals", daemon=True).start()

    def _wait(self):
        while numbers := self._received.recv(64):
            # The main thread changes the list meanwhile.
            for func, loop, mode, former in self._runs[-1:]:
                if former not in (-1, self._sent.fileno()):
                    with contextlib.suppress(OSError):
                        os.write(former, numbers)
                loop.post(mode, func)

    @contextlib.contextmanager
    def calling(self, func, loop, mode):
        former = signal.set_wakeup_fd(self._sent.fileno(), warn_on_full_buffer=False)
        self._runs.append((func, loop, mode, former))
        try:
            yield
        finally:
            self._runs.pop()
            latest = signal.set_wakeup_fd(former)
            if latest != self._sent.fileno():
                # Somebody has set another one meanwhile.
                signal.set_wakeup_fd(latest)


_signals = functools.cache(_Signals)


class _Interruption:
    """What Ctrl-C does to one run of a loop."""

    def __init__(self, loop):
        self._loop = loop
        self._is_running = True
        self.has_come = False

    def come(self):
        self.has_come = True
        self._loop.stop()

    def look(self):
        # It may have come before the loop ran, which has ignored the stop then.
        if self.has_come and self._is_running:
            self._loop.stop()

    def end(self):
        self._is_running = False


@contextlib.contextmanager
def _interruptible(loop, mode):
    interruption = _Interruption(loop)
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    # In this order: a signal that is handled here has its call of look().
    with _signals().calling(interruption.look, loop, mode), register_sigint_fallback(interruption.come):
        try:
            yield interruption
        finally:
            interruption.end()


class Loop(GRun.Loop):
    def run(self):
        with _interruptible(self, GRun.MODE_DEFAULT):
            return super().run()

    def run_in_mode(self, mode, seconds, return_after_source_handled):
        if seconds <= 0:
            return super().run_in_mode(mode, seconds, return_after_source_handled)
        with _interruptible(self, mode):
            return super().run_in_mode(mode, seconds, return_after_source_handled)

    def run_in_mode_usec(self, mode, usec, return_after_source_handled):
        if usec <= 0:
            return super().run_in_mode_usec(mode, usec, return_after_source_handled)
        with _interruptible(self, mode):
            return super().run_in_mode_usec(mode, usec, return_after_source_handled)

    def run_mode_before_date(self, mode, limit):
        with _interruptible(self, mode):
            return super().run_mode_before_date(mode, limit)

    def accept_input(self, mode, limit):
        with _interruptible(self, mode):
            super().accept_input(mode, limit)

    # These two go on after a stop: they are loops around runs, as they are in the library.

    def run_until_finished(self):
        with _interruptible(self, GRun.MODE_DEFAULT) as interruption:
            while super().run_mode_before_date(GRun.MODE_DEFAULT, GLib.MAXINT64) and not interruption.has_come:
                pass

    def run_until_date(self, limit):
        with _interruptible(self, GRun.MODE_DEFAULT) as interruption:
            while super().run_mode_before_date(GRun.MODE_DEFAULT, limit) and not interruption.has_come:
                if self.get_time() >= limit:
                    break


Loop = override(Loop)


class Timer(GRun.Timer):
    @staticmethod
    def new(seconds, repeats, func, *data):
        if math.isnan(seconds):
            raise ValueError("GRun.Timer.new: seconds is NaN, which is no time")
        return GRun.Timer.new(seconds, repeats, func, *data)

    @staticmethod
    def new_at(fire_date, seconds, func, *data):
        if math.isnan(seconds):
            raise ValueError("GRun.Timer.new_at: seconds is NaN, which is no time")
        return GRun.Timer.new_at(fire_date, seconds, func, *data)


Timer = override(Timer)
