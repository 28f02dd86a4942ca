# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the benchmark programs, and parses the line that each of them prints:
peer=... case=... n=... ns_per_op=... extra=..."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASE = os.path.join(HERE, ".build", "release")
OURS = os.path.join(RELEASE, "grun-bench")
PEERS = os.path.join(HERE, ".build", "peers")
# The names of peers that differ from their program's name.
NAMES = {
    "uv": "libuv", "ev": "libev", "le": "libevent", "sdev": "sd-event", "glib": "GLib", "foundation": "Foundation",
    "qt": "Qt", "tokio": "tokio", "asio": "asio"}


def called(label, labels):
    """Returns the name of a label's peer. If the peer has several labels, also the case of all but the first one. A
    special way to make timers is always named."""
    program, _, case = label.partition(":")
    first = next(other for other in labels if other.partition(":")[0] == program)
    if program not in NAMES:
        return label
    is_usual = label == first and not case.startswith("timers-create-")
    return NAMES[program] if is_usual else "%s:%s" % (NAMES[program], case)


def lines(command, environment, timeout):
    """Returns a program's output from a run on one core, or nothing after a timeout."""
    try:
        result = subprocess.run(
            ["taskset", "-c", "1"] + command, check=False, env={**os.environ, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return []
    return [line for line in result.stdout.splitlines() if line.startswith("peer=")]


def fields(line):
    return dict(part.split("=", 1) for part in line.split(" ") if "=" in part)
