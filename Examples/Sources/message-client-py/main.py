# SPDX-License-Identifier: Apache-2.0
"""Asks message-service-py, or message-service-c, whichever runs: for a reply at once, about a file that only this
side has opened, and for one that takes its time, while this side's own loop goes on. Then it stops the service."""
import os
import sys

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

NAME = "org.example.words"
# What a message means, as both sides have agreed.
COUNT_WORDS, COUNT_WORDS_OF_FILE, REMIND, STOP = range(1, 5)
NONSENSE = 99


def ask(number, text=b"", descriptors=None):
    """The reply, or why there is none."""
    try:
        # A second until the service takes the message, and ten until it has replied. Meanwhile this loop runs.
        reply = port.request(number, GLib.Bytes.new(text), descriptors, 1, 10, GRun.MODE_DEFAULT)
        return reply.get_data().get_data().decode()
    except GLib.Error as error:
        return error.message


loop = GRun.Loop.get_current()
try:
    port = GRun.RemoteMessagePort.look_up(NAME)
except GLib.Error as error:
    sys.exit(error.message)
print("words:", ask(COUNT_WORDS, b"to be or not to be"))

reader, writer = os.pipe()
os.write(writer, b"that is the question")
print("words of a file:", ask(COUNT_WORDS_OF_FILE, descriptors=[reader]))
os.close(reader)
os.close(writer)

ticks = []
timer = GRun.Timer.new(0.005, True, lambda timer: ticks.append(timer) or True)
loop.add_timer(timer, GRun.MODE_DEFAULT)
reminder = ask(REMIND)
print("reminder:", reminder + ", and the timer has", "gone on" if ticks else "stood still")
timer.invalidate()

print("nonsense:", ask(NONSENSE))

# Wants no reply. What is asked of a service that ends has none either.
port.send(STOP, None, None, 1, None)
ask(COUNT_WORDS, b"anybody there")
has_gone = not port.is_valid()
print("the service has gone" if has_gone else "the service goes on")
sys.exit(not has_gone)
