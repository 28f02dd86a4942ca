# SPDX-License-Identifier: Apache-2.0
"""The parts of the library that are different in Python (gi.overrides.GRun).

Ctrl-C ends a run on the main thread as it ends GLib.MainLoop.run(): the innermost run is stopped, then those around
it, and KeyboardInterrupt is raised where the outermost was called. Handlers of signal.signal() are called while a loop
sleeps. Calls that do not wait have no extra cost.

The tasks of asyncio go on while a loop runs, if asyncio has the event loop of gi.events (PyGObject 3.50). help() shows
the documentation of the C functions, if GRun-1.0.gir is installed.
"""
import contextlib
import functools
import math
import os
import re
import signal
import socket
import sys
import threading
import types

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
    """Calls a function in the innermost run after each signal, because Python calls its handlers only when its main
    thread executes Python code.

    A thread waits for the signals, because a source would keep the mode from being finished, and no context of GLib is
    served in every mode. The first run that waits starts the thread, which stays.
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
                # Other code has set another descriptor meanwhile.
                signal.set_wakeup_fd(latest)


_signals = functools.cache(_Signals)


class _Interruption:
    """Ends one run of a loop, or one wait in it, at Ctrl-C."""

    def __init__(self, end):
        self._end = end
        self._is_running = True
        self.is_interrupted = False

    def interrupt(self):
        self.is_interrupted = True
        self._end()

    def end_if_interrupted(self):
        # If the signal came before the loop ran, the loop ignored the call.
        if self.is_interrupted and self._is_running:
            self._end()

    def finish(self):
        self._is_running = False


@contextlib.contextmanager
def _interruptible(loop, mode, end):
    interruption = _Interruption(end)
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    # calling() comes first, so that a signal that is handled here has its call.
    calling = _signals().calling(interruption.end_if_interrupted, loop, mode)
    with calling, register_sigint_fallback(interruption.interrupt):
        try:
            yield interruption
        finally:
            interruption.finish()


def _serving_asyncio(loop, end):
    """Marks asyncio's event loop as running while the loop runs.

    Its tasks go on in the modes that serve the loop's home context. It does nothing if asyncio has another event loop
    than that of gi.events for this context. On other threads than the main thread, no event loop is made.
    """
    context = loop.get_home_context() if get_event_loop else None
    if context is None:
        return contextlib.nullcontext()
    if threading.current_thread() is threading.main_thread():
        event_loop = get_event_loop(context)
    else:
        events = sys.modules.get("gi.events")
        if events is None:
            return contextlib.nullcontext()
        policy = events.GLibEventLoopPolicy
        if not hasattr(policy, "_loops"):
            # Before version 3.56, only the policy that the program has set knows its event loops.
            policy = sys.modules["asyncio"].get_event_loop_policy()
        event_loop = getattr(policy, "_loops", {}).get(hash(context))
        if event_loop is not None and event_loop.is_closed():
            return contextlib.nullcontext()
    # PyGObject returns another object if there is no event loop.
    return event_loop.running(end) if hasattr(event_loop, "_context") else contextlib.nullcontext()


@contextlib.contextmanager
def _running(loop, mode, end=None):
    """Surrounds a run. Ctrl-C and asyncio's stop() call `end`, or stop the loop."""
    end = end or loop.stop
    with _interruptible(loop, mode, end) as interruption, _serving_asyncio(loop, interruption.interrupt):
        yield interruption


def _asyncio_event():
    # Programs without tasks do not load this module.
    import asyncio

    return asyncio.Event()


class Loop(GRun.Loop):
    def run(self):
        with _running(self, GRun.MODE_DEFAULT):
            return super().run()

    def run_in_mode(self, mode, seconds, return_after_source_handled):
        with _running(self, mode) if seconds > 0 else _serving_asyncio(self, self.stop):
            return super().run_in_mode(mode, seconds, return_after_source_handled)

    def run_in_mode_usec(self, mode, usec, return_after_source_handled):
        with _running(self, mode) if usec > 0 else _serving_asyncio(self, self.stop):
            return super().run_in_mode_usec(mode, usec, return_after_source_handled)

    def run_mode_before_date(self, mode, limit):
        with _running(self, mode):
            return super().run_mode_before_date(mode, limit)

    def accept_input(self, mode, limit):
        with _running(self, mode):
            super().accept_input(mode, limit)

    @contextlib.contextmanager
    def ambient_mode(self, mode):
        """Serves the loop in this mode while the body of a `with` statement runs, if a host drives the loop."""
        token = self.push_ambient_mode(mode)
        try:
            yield
        finally:
            self.pop_ambient_mode(token)

    async def ticks(self, seconds, mode=GRun.MODE_COMMON):
        """Yields 1, 2, 3 and so on, at this interval. Late ticks come together as one, with the latest number.

        `async for` works in a task of asyncio whose event loop is that of gi.events for the loop's home context. The
        timer ends with the iteration.
        """
        count, ticked = 0, _asyncio_event()

        def tick(_):
            nonlocal count
            count += 1
            ticked.set()
            return True

        timer = Timer.new(seconds, True, tick)
        self.add_timer(timer, mode)
        try:
            while True:
                await ticked.wait()
                ticked.clear()
                yield count
        finally:
            timer.invalidate()

    # A stop ends neither of these two, so they repeat runs until Ctrl-C.

    def run_until_finished(self):
        with _running(self, GRun.MODE_DEFAULT) as interruption:
            while super().run_mode_before_date(GRun.MODE_DEFAULT, GLib.MAXINT64) and not interruption.is_interrupted:
                pass

    def run_until_date(self, limit):
        with _running(self, GRun.MODE_DEFAULT) as interruption:
            while super().run_mode_before_date(GRun.MODE_DEFAULT, limit) and not interruption.is_interrupted:
                if self.get_time() >= limit:
                    break


Loop = override(Loop)


class Timer(GRun.Timer):
    @staticmethod
    def new(seconds, repeats, func, *data):
        if math.isnan(seconds):
            raise ValueError("GRun.Timer.new: seconds is NaN")
        return GRun.Timer.new(seconds, repeats, func, *data)

    @staticmethod
    def new_at(fire_date, seconds, func, *data):
        if math.isnan(seconds):
            raise ValueError("GRun.Timer.new_at: seconds is NaN")
        return GRun.Timer.new_at(fire_date, seconds, func, *data)


Timer = override(Timer)


class RemoteMessagePort(GRun.RemoteMessagePort):
    def request(self, id, data, fds, send_timeout, receive_timeout, mode):
        with _running(GRun.Loop.get_current(), mode, GRun.RemoteMessagePort.cancel_wait):
            return super().request(id, data, fds, send_timeout, receive_timeout, mode)

    def send(self, id, data, fds, send_timeout, mode=None):
        if mode is None:
            return super().send(id, data, fds, send_timeout, mode)
        with _running(GRun.Loop.get_current(), mode, GRun.RemoteMessagePort.cancel_wait):
            return super().send(id, data, fds, send_timeout, mode)


RemoteMessagePort = override(RemoteMessagePort)


class Channel(GRun.Channel):
    def send_value(self, value):
        # PyGObject cannot choose a type for None, converts every int to a C int, and cuts a text at its first NUL.
        is_long = isinstance(value, int) and not GLib.MININT <= value <= GLib.MAXINT
        if is_long and type(value) is int and GLib.MININT64 <= value <= GLib.MAXINT64:
            value = GObject.Value(GObject.TYPE_INT64, value)
        elif value is None or is_long or isinstance(value, str) and "\0" in value:
            value = GObject.Value(GObject.TYPE_PYOBJECT, value)
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
        # Most programs ask for no documentation, and do not load this module.
        from xml.etree import ElementTree

        folder = gi.Repository.get_default().get_typelib_path("GRun")
        while folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
            with contextlib.suppress(OSError, ElementTree.ParseError):
                root = ElementTree.parse(os.path.join(folder, "share", "gir-1.0", "GRun-1.0.gir")).getroot()
                self._read(root.find(_CORE + "namespace"), "GRun")
                break

    def _read(self, parent, prefix):
        for element in parent:
            name = element.get("name")
            if name is None or element.get("introspectable") == "0":
                continue
            name = f"{prefix}.{name.upper() if element.tag == _CORE + 'member' else name}"
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

    def __getattr__(self, name):
        # copy and pickle ask an object for attributes before it has any.
        if name == "_info":
            raise AttributeError(name)
        return getattr(self._info, name)

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
