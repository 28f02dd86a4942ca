# SPDX-License-Identifier: Apache-2.0
"""A service that other processes of this user find by its name. Its clients are message-client-py and
message-client-c. The same service in C is message-service-c."""
import os
import sys

import gi

gi.require_version("GRun", "1.0")
from gi.repository import GLib, GRun

NAME = "org.example.words"
# The ids of messages, as agreed by both sides.
COUNT_WORDS, COUNT_WORDS_OF_FILE, REMIND, STOP = range(1, 5)


def reply(message, text):
    try:
        message.reply(GLib.Bytes.new(str(text).encode()), None)
    except GLib.Error as error:
        # The client has gone meanwhile.
        print("not replied to:", error.message, file=sys.stderr)


def handle(port, message):
    number = message.get_id()
    if number == COUNT_WORDS:
        reply(message, len(message.get_data().get_data().split()))
    elif number == COUNT_WORDS_OF_FILE:
        # The service now owns the descriptor, perhaps of a file that the service could not open itself.
        descriptors = message.take_fds()
        content = os.read(descriptors[0], 4096) if descriptors else b""
        for descriptor in descriptors:
            os.close(descriptor)
        reply(message, len(content.split()))
    elif number == REMIND:
        # The reply comes later, because the function keeps the message. The service handles other messages meanwhile.
        loop.add_timer(GRun.Timer.new(0.05, False, lambda timer: reply(message, "now")), GRun.MODE_DEFAULT)
    elif number == STOP:
        loop.stop()
    else:
        # The message is released without a reply, so the client gets an error.
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
