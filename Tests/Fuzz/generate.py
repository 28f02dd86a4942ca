# SPDX-License-Identifier: Apache-2.0
"""Writes the fuzzer's table of calls, which has every function of the introspection data, and its table of messages:
generate.py GRun-1.0.gir docs/c/messages.md > calls.c

Fails if it does not know an argument or result of a function, so that no function is left out silently.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"
GLIB = "{http://www.gtk.org/introspection/glib/1.0}"

KINDS = {
    "GRunLoop*": "LOOP",
    "GRunSource*": "SOURCE",
    "GRunFdSource*": "FD_SOURCE",
    "GRunSignalSource*": "SIGNAL_SOURCE",
    "GRunChildSource*": "CHILD_SOURCE",
    "GRunTimer*": "TIMER",
    "GRunObserver*": "OBSERVER",
    "GRunIdleQueue*": "IDLE_QUEUE",
    "GRunChannel*": "CHANNEL",
    "GRunNotificationQueue*": "NOTIFICATION_QUEUE",
    "GRunPort*": "PORT",
    "GRunPortMessage*": "PORT_MESSAGE",
    "GRunMessagePort*": "MESSAGE_PORT",
    "GRunRemoteMessagePort*": "REMOTE_MESSAGE_PORT",
    "GRunMessage*": "MESSAGE",
    "GRunThread*": "THREAD",
    "GMainContext*": "CONTEXT",
}
# Their functions are in data.c: fuzz_on_GRunFunc and so on.
FUNCTIONS = {
    "GRunFunc": "void (gpointer)",
    "GRunStallFunc": "void (GRunLoop *, const char *, gdouble, gboolean, gpointer)",
    "GRunSourceFunc": "gboolean (GRunSource *, gpointer)",
    "GRunScheduleFunc": "void (GRunSource *, GRunLoop *, const char *, gpointer)",
    "GRunFdSourceFunc": "gboolean (GRunFdSource *, GIOCondition, gpointer)",
    "GRunSignalSourceFunc": "gboolean (GRunSignalSource *, guint64, gpointer)",
    "GRunChildSourceFunc": "void (GRunChildSource *, gint, const GError *, gpointer)",
    "GRunTimerFunc": "gboolean (GRunTimer *, gpointer)",
    "GRunObserverFunc": "gboolean (GRunObserver *, GRunActivity, gpointer)",
    "GRunChannelFunc": "void (gpointer, gpointer)",
    "GRunChannelValueFunc": "void (GValue *, gpointer)",
    "GRunNotificationFunc": "void (const char *, gpointer, GBytes *, gpointer)",
    "GRunPortFunc": "void (GRunPortMessage *, gpointer)",
    "GRunPortInvalidationFunc": "void (GRunPort *, gpointer)",
    "GRunMessagePortInvalidationFunc": "void (GRunMessagePort *, gpointer)",
    "GRunRemoteMessagePortInvalidationFunc": "void (GRunRemoteMessagePort *, gpointer)",
    "GRunMessagePortFunc": "void (GRunMessagePort *, GRunMessage *, gpointer)",
    "GRunMessageReplyingFunc": "GBytes* (GRunMessagePort *, GRunMessage *, gpointer)",
    "GRunReplyFunc": "void (GRunRemoteMessagePort *, GRunMessage *, const GError *, gpointer)",
    "GRunThreadSetUpFunc": "void (GRunLoop *, gpointer)",
    "GRunVirtualTimeFunc": "void (GRunLoop *, gpointer)",
}
# An argument by its type, or by its type and name.
ARGUMENTS = {
    "const char* mode": "MODE",
    "const char* name": "NAME",
    "const char* label": "NAME",
    "const char* path": "PATH",
    "const char* const*": "MODES",
    "gpointer user_data": "DATA",
    "gpointer message": "MESSAGE",
    "const GValue* value": "VALUE",
    "gpointer sender": "SENDER",
    "GBytes* data": "CONTENT",
    "GBytes*": "BYTES",
    "GDestroyNotify undelivered": "UNDELIVERED",
    "GDestroyNotify": "NOTIFY",
    "GError**": "ERROR",
    "gboolean": "BOOLEAN",
    "gint fd": "DESCRIPTOR",
    "gint signum": "SIGNAL",
    "gint pid": "CHILD",
    "gint": "INT",
    "guint id": "ID",
    "guint64 id": "ID",
    "guint index": "INDEX",
    "const gint* fds": "DESCRIPTORS",
    "guint n_fds": "DESCRIPTOR_COUNT",
    "guint* n_fds": "COUNT_PLACE",
    "guint": "UINT",
    "guint32": "UINT",
    "gint32": "INT",
    "gint64 fire_date": "DATE",
    "gint64 limit": "DATE",
    "gint64": "INT64",
    "gdouble seconds": "SECONDS",
    "gdouble send_timeout": "SECONDS",
    "gdouble receive_timeout": "SECONDS",
    "GIOCondition": "CONDITION",
    "GRunActivity": "ACTIVITIES",
    "GRunPostingStyle": "STYLE",
    "GRunCoalescing": "COALESCING",
}
NUMBERS = {"gboolean", "gint", "guint", "gint32", "guint32", "gint64", "gsize", "gdouble", "GIOCondition",
           "GRunActivity", "GRunResult", "GRunSendResult", "GQuark"}

# Functions whose arguments need care by contract: the rule, which is in rules.c, and the reason.
RULES = {
    "grun_loop_run": ("run", "waits until it is stopped"),
    "grun_loop_run_in_mode": ("run", "waits for as long as it is told, which may be for ever"),
    "grun_loop_run_in_mode_usec": ("run", "the same"),
    "grun_loop_run_mode_before_date": ("run", "the same"),
    "grun_loop_accept_input": ("run", "the same"),
    "grun_loop_poll_limit_date": ("run", "makes a pass, in which callbacks may come again and again"),
    "grun_loop_advance_time": ("run", "serves a timer as often as it is due until then"),
    "grun_loop_advance_to_next_timer": ("run", "waits in earnest for a timer's callback"),
    "grun_loop_run_until_date": ("run_until_date", "a stop does not end it, only the date"),
    "grun_loop_run_until_finished": ("run_until_finished", "nothing ends it where something always waits"),
    "grun_with_virtual_time": ("virtual_time", "nests without end"),
    "grun_loop_perform_and_wait": ("wait_for_loop", "waits for another thread, which may wait for this one"),
    "grun_thread_new": ("new_thread", "the system has only so many"),
    "grun_thread_wait": ("join", "waits for a thread that nobody has stopped, or that waits for this one"),
    "grun_port_send_before": ("send_before", "waits for as long as it is told, which may be for ever"),
    "grun_port_message_add_port": ("carry_port", "a port that waits in its own queue holds itself"),
    "grun_port_message_set_reply_port": ("carry_port", "the same"),
    "grun_remote_message_port_request": ("request", "waits for as long as it is told, which may be for ever"),
    "grun_remote_message_port_send": ("request", "the same"),
}
# Checks after a call, in addition to the checks of all calls: in rules.c.
CHECKS = {
    "grun_loop_perform_and_wait": "performed_once",
    "grun_channel_send": "sent",
    "grun_channel_send_value": "sent",
    "grun_port_message_get_bytes": "bytes",
    "grun_message_take_fds": "fds",
}
# Documented messages that the fuzzer cannot cause. If one appears, it is a finding.
UNEXPECTED = {
    "another copy of GRunLoop serves": "there is one copy",
    "this process was forked": "forked.py has forked children",
    "a callback pushed a thread-default GMainContext": "no callback pushes one",
    "the main dispatch queue is blocked": "no code uses it",
    "has closed a descriptor of the run loop": "only descriptors of our own are closed",
    "no descriptor is left": "there are enough",
    "no descriptor, thread or memory is left": "there are enough",
    "the kernel or a sandbox forbids": "nothing is forbidden",
    ": too late:": "Swift's",
    "this Swift runtime cannot keep": "Swift's",
    ".common stands for all": "Swift's",
    "was already popped": "Swift's",
}
# Sections of the document whose messages end the process.
FATAL = "## What ends the process"


def fail(message):
    sys.exit(f"fuzz: {message}")


def type_of(node):
    kind = node.find(CORE + "type")
    if kind is None:
        kind = node.find(CORE + "array")
    return kind.get(C + "type").replace(" *", "*")


def argument(symbol, name, kind, node):
    if kind in KINDS:
        consumed = "true" if node.get("transfer-ownership") == "full" else "false"
        return f'{{"{name}", ARGUMENT_OBJECT, KIND_{KINDS[kind]}, NULL, {consumed}}}', "p"
    if kind in FUNCTIONS:
        return f'{{"{name}", ARGUMENT_FUNCTION, 0, (GCallback)fuzz_on_{kind}, false}}', "f"
    known = ARGUMENTS.get(f"{kind} {name}", ARGUMENTS.get(kind))
    if known is None:
        fail(f"{symbol}: what is an argument {kind} {name}? See generate.py")
    pointers = ["MODE", "NAME", "PATH", "MODES", "DATA", "MESSAGE", "VALUE", "SENDER", "CONTENT", "BYTES", "ERROR",
                "DESCRIPTORS", "COUNT_PLACE"]
    field = "p" if known in pointers else {"NOTIFY": "f", "UNDELIVERED": "f", "SECONDS": "d"}.get(known, "i")
    return f'{{"{name}", ARGUMENT_{known}, 0, NULL, false}}', field


def result(symbol, node, throws):
    """How the result is used, its kind, and where it is put."""
    kind, transfer = type_of(node), node.get("transfer-ownership")
    if kind == "void":
        return "NONE", "0", None
    if kind in KINDS:
        # A nullable result without an error may be NULL.
        full = "FOUND" if node.get("nullable") == "1" and not throws else "NEW"
        return full if transfer == "full" else "BORROWED", f"KIND_{KINDS[kind]}", "p"
    if symbol in ("grun_loop_add_end_func", "grun_loop_perform_after", "grun_loop_push_ambient_mode",
                  "grun_loop_watch_stalls", "grun_notification_queue_add_func"):
        return "ID", "0", "i"
    if kind in NUMBERS:
        return "NUMBER", "0", "d" if kind == "gdouble" else "i"
    how = {("char*", "full"): "STRING", ("const char*", "none"): "CONSTANT", ("char**", "full"): "STRINGS",
           ("GPtrArray*", "container"): "CONTEXTS", ("GBytes*", "full"): "BYTES",
           ("GBytes*", "none"): "BORROWED_BYTES", ("gint*", "full"): "DESCRIPTORS"}.get((kind, transfer))
    if how is None:
        fail(f"{symbol}: what is a result {kind}, transfer {transfer}? See generate.py")
    return how, "0", "p"


def functions(root):
    for node in root.iter():
        # A function that was moved into a type is listed in that type as well.
        if node.tag in (CORE + "function", CORE + "method", CORE + "constructor") and node.get("moved-to") is None:
            yield node.get(C + "identifier"), node
    for node in root.iter():
        if node.get(GLIB + "get-type"):
            yield node.get(GLIB + "get-type"), None


def print_function(symbol, node):
    """The function that calls it. Returns its line of the table."""
    if node is None:
        print(f"static void perform_{symbol} (Call *call)\n{{\n    call->result.i = (gint64)({symbol}) ();\n}}\n")
        return f'    {{"{symbol}", perform_{symbol}, {{{{0}}}}, 0, RESULT_TYPE, 0, false, SCOPE_NONE, NULL, NULL}},'
    parameters = node.find(CORE + "parameters")
    nodes = [(each.get("name"), type_of(each), each) for each in (parameters if parameters is not None else [])]
    if node.get("throws") == "1":
        nodes.append(("error", "GError**", None))
    if len(nodes) > 13:
        fail(f"{symbol} has {len(nodes)} arguments, and MAX_VALUES is 13")
    # A C array needs at least one element.
    texts, passed = [], []
    for index, (name, kind, each) in enumerate(nodes):
        text, field = argument(symbol, name, kind, each)
        texts.append(text)
        if field == "f" or kind in ("const char* const*",):
            passed.append(f"({kind})call->values[{index}].{field}")
        elif field == "p":
            passed.append(f"call->values[{index}].p")
        else:
            passed.append(f"({kind})call->values[{index}].{field}")
    how, kind, field = result(symbol, node.find(CORE + "return-value"), node.get("throws") == "1")
    cast = {"p": "(gpointer)", "i": "(gint64)", "d": ""}.get(field)
    call = f"{symbol} ({', '.join(passed)});"
    print(f"static void perform_{symbol} (Call *call)\n{{")
    print(f"    {call}" if field is None else f"    call->result.{field} = {cast}{call}")
    print("    (void)call;\n}\n")
    scopes = {each.get("scope") for _, kind_of, each in nodes if kind_of in FUNCTIONS}
    scope = "NONE"
    if symbol == "grun_loop_cancel_performs":
        # This function only compares function and data, and calls nothing.
        pass
    elif "call" in scopes:
        scope = "CALL"
    elif "notified" in scopes:
        is_kept = how not in ("NONE", "NUMBER", "ID") or symbol in (
            "grun_channel_receive", "grun_channel_receive_values", "grun_loop_watch_stalls",
            "grun_notification_queue_add_func")
        scope = "MANY" if is_kept else "ONCE"
    elif scopes:
        fail(f"{symbol}: a function of scope {scopes}. See generate.py")
    is_reference = "true" if symbol.endswith("_ref") else "false"
    rule = f"rule_{RULES[symbol][0]}" if symbol in RULES else "NULL"
    check = f"check_{CHECKS[symbol]}" if symbol in CHECKS else "NULL"
    return (
        f'    {{"{symbol}", perform_{symbol}, {{{", ".join(texts) or "{0}"}}}, {len(nodes)}, RESULT_{how}, {kind},\n'
        f"     {is_reference}, SCOPE_{scope}, {rule}, {check}}},"
    )


def messages(path):
    section = ""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.strip()
        found = re.match(r"\| `(.*?)` \|", line)
        if found and section != FATAL:
            yield found[1].replace("\\|", "|")


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def main():
    root = tree.parse(sys.argv[1]).getroot()
    print("// Written by generate.py.\n#include \"rules.h\"\n")
    for name, signature in FUNCTIONS.items():
        returned, arguments = signature.split(" ", 1)
        print(f"extern {returned} fuzz_on_{name} {arguments};")
    print()
    lines, symbols = [], set()
    for symbol, node in functions(root):
        if symbol not in symbols:
            lines.append(print_function(symbol, node))
            symbols.add(symbol)
    for symbol in [*RULES, *CHECKS]:
        if symbol not in symbols:
            fail(f"generate.py has a rule for {symbol}, which does not exist")
    print("const Function fuzz_functions[] = {", *lines, "};", sep="\n")
    print("const unsigned fuzz_function_count = G_N_ELEMENTS(fuzz_functions);\n")
    known = list(dict.fromkeys(messages(sys.argv[2])))
    # Longer texts come first, because a shorter one may be their prefix.
    known.sort(key=lambda each: -len(each))
    for text in UNEXPECTED:
        if not any(text in each for each in known):
            fail(f"generate.py does not expect {text}, which is not in docs/c/messages.md")
    print("const Message fuzz_messages[] = {")
    for each in known:
        expected = "false" if any(text in each for text in UNEXPECTED) else "true"
        print(f"    {{{quoted(each)}, {expected}}},")
    print("};\nconst unsigned fuzz_message_count = G_N_ELEMENTS(fuzz_messages);\n")
    print("const char *const fuzz_message_names[] = {")
    for each in known:
        short = re.sub(r"^…: (this … is |called on )?|^assertion ", "", each)
        short = re.sub(r"^assertion '(.*)' failed$", r"\1", short).replace("…", "_")
        print(f"    {quoted(short)},")
    print("};")


if __name__ == "__main__":
    main()
