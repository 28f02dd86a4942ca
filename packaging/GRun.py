# SPDX-License-Identifier: Apache-2.0
"""The parts of the library that are different in Python (gi.overrides.GRun).

Ctrl-C ends a run on the main thread as it ends GLib.MainLoop.run(): the innermost run is stopped, then those around
it, and KeyboardInterrupt is raised where the outermost was called. Handlers of signal.signal() are called while a loop
sleeps. Calls that do not wait pay nothing for it.

The tasks of asyncio go on while a loop runs, if asyncio has the event loop of gi.events (PyGObject 3.50). help() shows
the documentation of the C functions, if GRun-1.0.gir is installed.
"""
import asyncio
import contextlib
import functools
import math
import os
import pathlib
import re
import signal
import socket
import threading
import types
import xml.etree.ElementTree

import gi
import gi.docstring
from gi._ossighelper import register_sigint_fallback
from gi.module import get_introspection_module
from gi.overrides import override
from gi.repository import GLib, GObject

try:
    from gi._ossighelper import get_event_loop
except ImportError:
    get_event_loop = None

GRun = get_introspection_module("GRun")
__all__ = ["Channel", "Loop", "RemoteMessagePort", "Timer"]


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


def _serving_asyncio(loop):
    """Has asyncio's tasks go on while the loop runs in a mode that serves its home context.

    It does nothing if asyncio has another event loop than that of gi.events for this context.
    """
    if get_event_loop is not None:
        event_loop = get_event_loop(loop.get_home_context())
        if isinstance(event_loop, asyncio.AbstractEventLoop):
            return event_loop.running(loop.stop)
    return contextlib.nullcontext()


class Loop(GRun.Loop):
    def run(self):
        with _interruptible(self, GRun.MODE_DEFAULT), _serving_asyncio(self):
            return super().run()

    def run_in_mode(self, mode, seconds, return_after_source_handled):
        waiting = _interruptible(self, mode) if seconds > 0 else contextlib.nullcontext()
        with waiting, _serving_asyncio(self):
            return super().run_in_mode(mode, seconds, return_after_source_handled)

    def run_in_mode_usec(self, mode, usec, return_after_source_handled):
        waiting = _interruptible(self, mode) if usec > 0 else contextlib.nullcontext()
        with waiting, _serving_asyncio(self):
            return super().run_in_mode_usec(mode, usec, return_after_source_handled)

    def run_mode_before_date(self, mode, limit):
        with _interruptible(self, mode), _serving_asyncio(self):
            return super().run_mode_before_date(mode, limit)

    def accept_input(self, mode, limit):
        with _interruptible(self, mode), _serving_asyncio(self):
            super().accept_input(mode, limit)

    # These two go on after a stop: they are loops around runs, as they are in the library.

    def run_until_finished(self):
        with _interruptible(self, GRun.MODE_DEFAULT) as interruption, _serving_asyncio(self):
            while super().run_mode_before_date(GRun.MODE_DEFAULT, GLib.MAXINT64) and not interruption.has_come:
                pass

    def run_until_date(self, limit):
        with _interruptible(self, GRun.MODE_DEFAULT) as interruption, _serving_asyncio(self):
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


class RemoteMessagePort(GRun.RemoteMessagePort):
    def request(self, id, data, fds, send_timeout, receive_timeout, mode):
        if threading.current_thread() is not threading.main_thread():
            return super().request(id, data, fds, send_timeout, receive_timeout, mode)
        # Core Foundation's request goes on after a stop. This one can be cancelled.
        loop = GRun.Loop.get_current()
        outcomes = []

        def end(port, reply, error):
            outcomes.append((reply, error))

        with _interruptible(loop, mode) as interruption:
            number = self.start_request(id, data, fds, send_timeout, receive_timeout, loop, mode, end)
            result = None
            while number and not outcomes and not interruption.has_come and result != GRun.Result.FINISHED:
                result = GRun.Loop.run_in_mode(loop, mode, math.inf, True)
            if not outcomes:
                self.cancel_request(number)
                return None
        reply, error = outcomes[0]
        if error:
            raise error
        return reply

    def send(self, id, data, fds, send_timeout, mode):
        if mode is None or not send_timeout > 0 or threading.current_thread() is not threading.main_thread():
            return super().send(id, data, fds, send_timeout, mode)
        loop = GRun.Loop.get_current()
        limit = loop.get_time() / 1e6 + send_timeout
        timed_out = GRun.MessageRequestError.SEND_TIMEOUT
        with _interruptible(loop, mode) as interruption:
            while True:
                # A stop does not end it, so it waits for a moment at a time.
                left = limit - loop.get_time() / 1e6
                try:
                    return super().send(id, data, fds, min(max(left, 0), 0.1), mode)
                except GLib.Error as error:
                    is_full = error.matches(GRun.message_request_error_quark(), timed_out)
                    if interruption.has_come or left <= 0 or not is_full:
                        raise


RemoteMessagePort = override(RemoteMessagePort)


class Channel(GRun.Channel):
    def send_value(self, value):
        # PyGObject has no type for None, and takes the type of every other number for an int of C.
        if value is None or isinstance(value, int) and not GLib.MININT <= value <= GLib.MAXINT:
            is_long = value is not None and GLib.MININT64 <= value <= GLib.MAXINT64
            value = GObject.Value(GObject.TYPE_INT64 if is_long else GObject.TYPE_PYOBJECT, value)
        return super().send_value(value)


Channel = override(Channel)


_CORE = "{http://www.gtk.org/introspection/core/1.0}"
_C = "{http://www.gtk.org/introspection/c/1.0}"
_INTERRUPTIBLE = {
    "grun_loop_run", "grun_loop_run_in_mode", "grun_loop_run_in_mode_usec", "grun_loop_run_mode_before_date",
    "grun_loop_accept_input", "grun_loop_run_until_finished", "grun_loop_run_until_date",
    "grun_remote_message_port_request", "grun_remote_message_port_send"}


class _Documentation:
    """The documentation of GRun-1.0.gir, with the names that Python has."""

    def __init__(self):
        # The name in Python of each name in C, and the element of each name in C.
        self._names, self._elements = {"NULL": "None", "TRUE": "True", "FALSE": "False"}, {}
        path = gi.Repository.get_default().get_typelib_path("GRun")
        for folder in pathlib.Path(path).parents:
            file = folder / "share" / "gir-1.0" / "GRun-1.0.gir"
            if file.exists():
                namespace = xml.etree.ElementTree.parse(file).getroot().find(_CORE + "namespace")
                self._read(namespace, "GRun")
                break

    def _read(self, parent, prefix):
        for element in parent:
            name = element.get("name")
            if name is None:
                continue
            name = f"{prefix}.{name}"
            if element.tag == _CORE + "member":
                name = f"{prefix}.{element.get('name').upper()}"
            symbol = element.get(_C + "identifier") or element.get(_C + "type")
            if symbol:
                self._names.setdefault(symbol, name)
                self._elements.setdefault(symbol, element)
            self._read(element, name)

    def _translated(self, text):
        def name(match):
            return self._names.get(match[1], match[1]) + (match[2] or "")

        return re.sub(r"[#%@]?\b([A-Za-z_]\w*)(\(\))?", name, text)

    def of(self, symbol):
        element = self._elements.get(symbol)
        if element is None:
            return None
        paragraphs = [element.findtext(_CORE + "doc", "")]
        for parameter in element.iterfind(f"{_CORE}parameters/{_CORE}parameter"):
            text = parameter.findtext(_CORE + "doc")
            if text and parameter.get("name") not in ("notify", "user_data"):
                paragraphs.append(f"{parameter.get('name')}: {text}")
        returned = element.find(_CORE + "return-value")
        if returned is not None and returned.find(_CORE + "doc") is not None:
            paragraphs.append("Returns: " + returned.findtext(_CORE + "doc"))
        if element.get("throws") == "1":
            paragraphs.append("Raises GLib.Error.")
        if symbol in _INTERRUPTIBLE:
            paragraphs.append("Raises KeyboardInterrupt at Ctrl-C, on the main thread.")
        return self._translated("\n\n".join(paragraphs))


_documentation = functools.cache(_Documentation)
_generated = gi.docstring.get_doc_string_generator()


def _generate(info):
    text = _generated(info)
    if info.get_namespace() != "GRun":
        return text
    if hasattr(info, "get_symbol"):
        documentation = _documentation().of(info.get_symbol())
    else:
        documentation = _documentation().of("GRun" + info.get_name())
    return "\n\n".join(filter(None, [text, documentation]))


gi.docstring.set_doc_string_generator(_generate)


class _Function:
    """A function of the library for help(), which takes PyGObject's own functions for data."""

    def __init__(self, info, holder=None):
        self._info = info
        # A constructor gets its class.
        self._function = functools.partial(info, holder) if info.is_constructor() else info
        self.__name__ = self.__qualname__ = info.get_name()

    def __get__(self, instance, owner=None):
        is_method = instance is not None and self._info.is_method()
        return types.MethodType(self._function, instance) if is_method else self

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    @property
    def __doc__(self):
        return self._info.__doc__


for _name in dir(GRun):
    _object = getattr(GRun, _name)
    if hasattr(_object, "get_symbol"):
        globals()[_name] = _Function(_object)
        __all__.append(_name)
    for _info in getattr(getattr(_object, "__info__", None), "get_methods", list)():
        setattr(_object, _info.get_name(), _Function(_info, _object))
