# SPDX-License-Identifier: Apache-2.0
"""A service that other processes of this user find by its name, and ask: message-client-py does, and message-client-c.
message-service-c is the same in C."""
import os
import sys

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

NAME = "org.example.words"
# What a message means, as both sides have agreed.
COUNT_WORDS, COUNT_WORDS_OF_FILE, REMIND, STOP = range(1, 5)


def reply(message, text):
    try:
        message.reply(GLib.Bytes.new(str(text).encode()), None)
    except GLib.Error as error:
        # Who asked has gone meanwhile.
        print("not replied to:", error.message, file=sys.stderr)


def handle(port, message):
    number = message.get_id()
    if number == COUNT_WORDS:
        reply(message, len(message.get_data().get_data().split()))
    elif number == COUNT_WORDS_OF_FILE:
        # The descriptor is ours from here on, and may be of a file that we could not open.
        descriptors = message.take_fds()
        content = os.read(descriptors[0], 4096) if descriptors else b""
        for descriptor in descriptors:
            os.close(descriptor)
        reply(message, len(content.split()))
    elif number == REMIND:
        # Answered later: the function keeps the message. Others are served meanwhile.
        loop.add_timer(GRun.Timer.new(0.05, False, lambda timer: reply(message, "now")), GRun.MODE_DEFAULT)
    elif number == STOP:
        loop.stop()
    else:
        # Nobody keeps it, and so who asked is told that there is no reply.
        print("message", number, "means nothing")


loop = GRun.Loop.get_current()
try:
    port = GRun.MessagePort.new(NAME, handle)
    loop.add_message_port(port, GRun.MODE_DEFAULT)
except GLib.Error as error:
    sys.exit(error.message)
print("ready:", NAME, flush=True)
loop.run()
# The name is free now, and clients notice.
port.invalidate()
print("stopped")
