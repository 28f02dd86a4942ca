# SPDX-License-Identifier: Apache-2.0
"""What the compiler knows of the library: each declaration and each use of one, in Swift and in C, out of the index
that a debug build by SwiftPM leaves in .build/debug/index/store. The toolchain's libIndexStore.so reads it."""
import collections
import ctypes
import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess
import sys

SWIFT = os.environ.get("SWIFT", "swift")
# What is looked at; a build of the last one builds them all.
TARGETS = ("CGRun", "GRunLoop", "GRunLoopC")

# indexstore_symbol_kind_t
KINDS = {
    1: "module", 4: "macro", 5: "enum", 6: "struct", 7: "class", 8: "protocol", 9: "extension", 10: "union",
    11: "typealias", 12: "function", 13: "variable", 14: "field", 15: "case", 16: "method", 17: "class method",
    18: "static method", 19: "property", 20: "class property", 21: "static property", 22: "init", 23: "deinit",
    25: "parameter",
}  # fmt: skip
TYPES = {"enum", "struct", "class", "protocol", "union", "typealias"}
PROPERTIES = {"property", "class property", "static property"}
FUNCTIONS = {"function", "method", "class method", "static method", "init", "deinit"}
# indexstore_symbol_subkind_t: generic parameters, which are nobody's declarations.
GENERIC = {1012, 1013}
# willSet and didSet
OBSERVERS = {1000, 1001}
# indexstore_symbol_role_t
DECLARATION, DEFINITION, CALL, IMPLICIT = 1 << 0, 1 << 1, 1 << 5, 1 << 8
CHILD_OF, OVERRIDE_OF, CALLED_BY, EXTENDED_BY, ACCESSOR_OF, CONTAINED_BY = (1 << n for n in (9, 11, 13, 14, 15, 16))
# indexstore_unit_dependency_kind_t
RECORD = 2


@dataclasses.dataclass
class Symbol:
    usr: str
    name: str
    kind: str
    file: str
    line: int
    # The type or extension that it is a member of; the extended type of an extension; what it overrides or fulfils.
    parent: str | None = None
    overrides: tuple = ()
    # A property that has memory: its accessors are the compiler's, or only watch it.
    is_stored: bool = False


@dataclasses.dataclass(frozen=True)
class Use:
    usr: str
    file: str
    line: int
    column: int
    is_call: bool
    # Of a type: it is named to be extended.
    is_extension: bool
    # The function or property that it stands in.
    within: str | None


class Index:
    def __init__(self, root):
        self.root = root
        self.symbols = {}
        self.uses = []

    def owner(self, symbol):
        """The type that a symbol is a member of, also by an extension; None for a free one."""
        parent = self.symbols.get(symbol.parent)
        if parent and parent.kind == "extension":
            return self.symbols.get(parent.parent)
        return parent if parent and parent.kind in TYPES else None

    def path(self, symbol):
        """Its name with those of the types around it: GRunLoop.Timer.fire()"""
        owner = self.owner(symbol)
        return f"{self.path(owner)}.{symbol.name}" if owner else symbol.name


@functools.cache
def swift(*path):
    """A file of the toolchain, named from the folder above its commands."""
    found = shutil.which(SWIFT) or sys.exit(f"{SWIFT}: not found")
    file = pathlib.Path(found).resolve().parent.parent.joinpath(*path)
    return file if file.exists() else sys.exit(f"{file} is missing: the toolchains of swift.org have it")


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


POINTER, TEXT, INT, FLAGS = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint64
# The functions of indexstore.h that are called: what each returns and takes.
SIGNATURES = {
    "store_create": (POINTER, TEXT, POINTER),
    "store_units_apply_f": (ctypes.c_bool, POINTER, INT, POINTER, POINTER),
    "store_dispose": (None, POINTER),
    "unit_reader_create": (POINTER, POINTER, TEXT, POINTER),
    "unit_reader_dispose": (None, POINTER),
    "unit_reader_get_main_file": (String, POINTER),
    "unit_reader_get_output_file": (String, POINTER),
    "unit_reader_dependencies_apply_f": (ctypes.c_bool, POINTER, POINTER, POINTER),
    "unit_dependency_get_kind": (INT, POINTER),
    "unit_dependency_get_filepath": (String, POINTER),
    "unit_dependency_get_name": (String, POINTER),
    "record_reader_create": (POINTER, POINTER, TEXT, POINTER),
    "record_reader_dispose": (None, POINTER),
    "record_reader_occurrences_apply_f": (ctypes.c_bool, POINTER, POINTER, POINTER),
    "occurrence_get_symbol": (POINTER, POINTER),
    "occurrence_get_roles": (FLAGS, POINTER),
    "occurrence_get_line_col": (None, POINTER, POINTER, POINTER),
    "occurrence_relations_apply_f": (ctypes.c_bool, POINTER, POINTER, POINTER),
    "symbol_relation_get_roles": (FLAGS, POINTER),
    "symbol_relation_get_symbol": (POINTER, POINTER),
    "symbol_get_kind": (INT, POINTER),
    "symbol_get_subkind": (INT, POINTER),
    "symbol_get_name": (String, POINTER),
    "symbol_get_usr": (String, POINTER),
}


@functools.cache
def function(name):
    found = getattr(ctypes.CDLL(str(swift("lib", "libIndexStore.so"))), "indexstore_" + name)
    found.restype, *found.argtypes = SIGNATURES[name]
    return found


def call(name, *arguments):
    return function(name)(*arguments)


def each(name, *arguments, read, kind=POINTER):
    """What `read` makes of each of the things that indexstore's `name` goes through; they last no longer than that."""
    found, failures = [], []

    def step(_, thing):
        try:
            found.append(read(thing))
        except Exception as failure:
            failures.append(failure)
        return not failures

    call(name, *arguments, None, ctypes.cast(ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, kind)(step), POINTER))
    if failures:
        raise failures[0]
    return found


def sources(root, *suffixes):
    """What has a unit of its own; or the files that end so."""
    return [
        file
        for target in TARGETS
        for file in sorted((root / "Sources" / target).rglob("*"))
        if file.suffix in (suffixes or (".swift", ".c"))
    ]


def units(root, store):
    """The units of the present build, by their main file. Of a file that has moved or is gone a unit stays behind."""
    found = {}
    for name in each("store_units_apply_f", store, 1, read=str, kind=String):
        unit = call("unit_reader_create", store, name.encode(), None)
        main = pathlib.Path(str(call("unit_reader_get_main_file", unit)))
        output = pathlib.Path(str(call("unit_reader_get_output_file", unit)))
        if main.is_relative_to(root / "Sources") and main.exists() and output.exists():
            if output.parent.parent == (root / ".build" / "debug").resolve():
                written = (root / ".build/debug/index/store/v5/units" / name).stat().st_mtime
                if main not in found or written > found[main][0]:
                    found[main] = (written, name)
        call("unit_reader_dispose", unit)
    return found


def is_current(root):
    """Whether each source has a unit that is as new as it is. A header has none: who includes it is compiled again."""
    path = root / ".build" / "debug" / "index" / "store"
    if not path.exists():
        return False
    store = call("store_create", bytes(path), None)
    found = units(root, store)
    call("store_dispose", store)
    newest = max((written for written, _ in found.values()), default=0)
    return all(file in found and found[file][0] >= file.stat().st_mtime for file in sources(root)) and all(
        newest >= file.stat().st_mtime for file in sources(root, ".h")
    )


def build(root):
    print("swift build, for the compiler's index", file=sys.stderr)
    # An old tree may not have all of them.
    target = [target for target in TARGETS if (root / "Sources" / target).exists()][-1]
    done = subprocess.run(
        [SWIFT, "build", "--target", target], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit(f"swift build --target {target} has failed:\n" + done.stdout[-4000:])


def record(dependency):
    """The file of a unit's dependency, and the name of its record, which is empty for what is none."""
    is_record = call("unit_dependency_get_kind", dependency) == RECORD
    name = str(call("unit_dependency_get_name", dependency)) if is_record else ""
    return pathlib.Path(str(call("unit_dependency_get_filepath", dependency))), name


def load(root):
    """The index of the tree at `root`, which is built first where its index is older than its sources."""
    root = pathlib.Path(root).resolve()
    if not is_current(root):
        build(root)
    store = call("store_create", bytes(root / ".build" / "debug" / "index" / "store"), None)
    found = units(root, store)
    missing = [file for file in sources(root) if file not in found]
    if missing:
        sys.exit("the build has left no index of " + ", ".join(str(file.relative_to(root)) for file in missing))
    reader = Reader(root)
    read = set()
    for file in sources(root):
        unit = call("unit_reader_create", store, found[file][1].encode(), None)
        for path, name in each("unit_reader_dependencies_apply_f", unit, read=record):
            # A header is read once for each way in which a file sees it.
            if path.is_relative_to(root / "Sources") and name not in read | {""}:
                read.add(name)
                reader.read(store, name, str(path.relative_to(root / "Sources")))
        call("unit_reader_dispose", unit)
    return reader.finish()


def relation(pointer):
    related = call("symbol_relation_get_symbol", pointer)
    return call("symbol_relation_get_roles", pointer), str(call("symbol_get_usr", related))


class Reader:
    def __init__(self, root):
        self.index = Index(root)
        self.accessors = {}
        self.extended = {}
        self.stored = set()
        self.fulfilled = collections.defaultdict(tuple)
        self.uses = {}

    def read(self, store, record, file):
        reader = call("record_reader_create", store, record.encode(), None)
        each("record_reader_occurrences_apply_f", reader, read=lambda occurrence: self.note(occurrence, file))
        call("record_reader_dispose", reader)

    def note(self, occurrence, file):
        symbol = call("occurrence_get_symbol", occurrence)
        kind = KINDS.get(call("symbol_get_kind", symbol), "other")
        if kind in ("module", "parameter") or call("symbol_get_subkind", symbol) in GENERIC:
            return
        roles = call("occurrence_get_roles", occurrence)
        usr = str(call("symbol_get_usr", symbol))
        line, column = INT(), INT()
        call("occurrence_get_line_col", occurrence, ctypes.byref(line), ctypes.byref(column))
        related = each("occurrence_relations_apply_f", occurrence, read=relation)

        def one(role):
            return next((other for roles, other in related if roles & role), None)

        if roles & (DECLARATION | DEFINITION):
            if roles & ACCESSOR_OF:
                self.accessors[usr] = one(ACCESSOR_OF)
                if roles & IMPLICIT or call("symbol_get_subkind", symbol) in OBSERVERS:
                    self.stored.add(one(ACCESSOR_OF))
            elif roles & DEFINITION or usr not in self.index.symbols:
                self.index.symbols[usr] = Symbol(
                    usr,
                    # C's typedef struct {...} Name has the name in its USR only.
                    str(call("symbol_get_name", symbol)) or usr.rpartition("@")[2],
                    kind,
                    file,
                    line.value,
                    one(CHILD_OF),
                    tuple(other for roles, other in related if roles & OVERRIDE_OF),
                )
            return
        for roles_of, other in related:
            if roles_of & EXTENDED_BY:
                self.extended[other] = usr
            if roles_of & OVERRIDE_OF:
                # The extension that declares a conformance says so of a function that stands elsewhere.
                self.fulfilled[usr] += (other,)
        key = (usr, file, line.value, column.value)
        self.uses[key] = (roles | self.uses.get(key, (0,))[0], one(CONTAINED_BY) or one(CALLED_BY))

    def finish(self):
        """What the records say together: a use of an accessor is one of its property."""
        symbols = self.index.symbols
        for extension, usr in self.extended.items():
            if extension in symbols:
                symbols[extension].parent = usr
        for usr in self.stored & set(symbols):
            symbols[usr].is_stored = True
        for usr, requirements in self.fulfilled.items():
            if usr in symbols:
                symbols[usr].overrides += requirements
        merged = {}
        for (usr, *where), (roles, within) in self.uses.items():
            usr = self.accessors.get(usr, usr)
            if usr in symbols:
                key = (usr, *where)
                merged[key] = (roles | merged.get(key, (0,))[0], self.accessors.get(within, within))
        self.index.uses = [
            Use(*key, bool(roles & CALL), bool(roles & EXTENDED_BY), within)
            for key, (roles, within) in sorted(merged.items(), key=lambda use: use[0][1:])
        ]
        return self.index


def demangle(symbols):
    """The types of properties, by their USR, as the compiler has inferred them."""
    names = [symbol.usr.replace("s:", "$s", 1) for symbol in symbols]
    shown = subprocess.run(
        [swift("bin", "swift-demangle"), "-compact"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {symbol.usr: line.partition(" : ")[2] for symbol, line in zip(symbols, shown)}
