# SPDX-License-Identifier: Apache-2.0
"""A client of message-service-py or message-service-c, whichever runs. It requests an immediate reply, a count of a
file that only this side has opened, and a reply that takes its time, while this side's own loop goes on. Then it
stops the service."""
import os
import sys

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

NAME = "org.example.words"
# The ids of messages, as agreed by both sides.
COUNT_WORDS, COUNT_WORDS_OF_FILE, REMIND, STOP = range(1, 5)
NONSENSE = 99


def ask(number, text=b"", descriptors=None):
    """Prints the reply, or why there is none."""
    try:
        # The service has a second to take the message, and ten to reply. Meanwhile this loop runs.
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

# This message wants no reply. A request to a service that has ended gets no reply either.
port.send(STOP, None, None, 1, None)
ask(COUNT_WORDS, b"anybody there")
has_gone = not port.is_valid()
print("the service has gone" if has_gone else "the service goes on")
sys.exit(not has_gone)
