# GRunLoop: what a newcomer and the CI call. Each target installs what it needs from Debian.

SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PACKAGES := libglib2.0-dev
SWIFT_CODE := Sources Tests Package.swift Examples/Sources Examples/Package.swift Benchmarks/Sources \
	Benchmarks/Package.swift Tools/Sources Tools/Package.swift Tools/Mutations/Sources Tools/Mutations/Package.swift
# The oracle, the turns, growth and others are a package of their own.
TOOLS := --package-path Tools
# Make runs a line with its own variable's name even with -n.
STEP_MAKE = $(MAKE)
ORACLE = $(SWIFT) run $(TOOLS) -c release --skip-build grun-oracle
# What the checks need beside it.
CHECK_PACKAGES := strace valgrind python3 rsync git binutils
# What the documentation needs beside docc, which stands beside the compiler.
DOCS_PACKAGES := pkg-config python3
# What installing the C library needs, and what checking it does.
C_PACKAGES := binutils pkg-config gcc libgirepository1.0-dev gobject-introspection python3
C_CHECK_PACKAGES := g++ gi-docgen gjs patchelf python3-gi valac valgrind xauth
# The peers of the benchmarks.
BENCH_PACKAGES := gcc pkg-config libuv1-dev libev-dev libevent-dev libsystemd-dev util-linux dbus-daemon
# What checks scripts and links.
LINT_PACKAGES := shellcheck python3-venv
# What opens the page of a timeline.
PICTURE_PACKAGES := chromium fonts-dejavu-core python3 python3-venv
# What the GTK examples need, and what shows them.
GTK_PACKAGES := libgtk-3-dev libgtk-4-dev xvfb weston

# Installs those of the packages that are not installed.
define install
	missing=; for package in $(1); do \
		[ "$$(dpkg-query -W -f='$${db:Status-Status}' $$package 2> /dev/null)" = installed ] || \
			missing="$$missing $$package"; \
	done; \
	[ -z "$$missing" ] || { \
		$(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; \
	}
endef

.PHONY: demo window test check build install uninstall c-reference format lint lint-scripts glib-api items \
	items-bite mutate oracle turns idle hosted growth models stalls records inspect-pictures trace-cost stable soak \
	docs fuzz kill-ports test-tsan test-asan test-sanitizers test-gtk test-c test-foundation test-debian perturb \
	counts bench bench-quick bench-build deps check-deps gtk-deps c-deps lint-deps clean
# apt-get and SwiftPM each hold a lock, and some steps measure time.
.NOTPARALLEL:

## Builds and runs the tour of self-checking scenarios.
demo: deps
	$(SWIFT) run -c release gloop-demo

## Opens a GTK 4 window that a task of the main actor, a dispatch queue and run-loop timers keep up to date.
window: deps
	@$(call install,libgtk-4-dev)
	$(SWIFT) run --package-path Examples gtk4-window

## The tests. VERBOSE=1 prints what each step prints.
test: check-deps
	@scripts/steps \
		"lint" "$(STEP_MAKE) lint" \
		"build the tests" "$(SWIFT) build --build-tests" \
		"tests" scripts/run-tests \
		"facts that the tests prove" "$(STEP_MAKE) items" \
		"demo" scripts/check-demo \
		"build the oracle" "$(SWIFT) build $(TOOLS) -c release --product grun-oracle" \
		"200 programs on the real loop" "$(ORACLE) --seed 1 --programs 200" \
		"an idle loop sleeps" scripts/idle

## What takes longer, and must hold too before a change lands.
check: check-deps lint-deps
	@scripts/steps \
		"GLib 2.56" "$(STEP_MAKE) glib-api" \
		"build the tools" "$(SWIFT) build $(TOOLS) -c release" \
		"oracle: watchdog" "$(ORACLE) --watchdog" \
		"oracle: scenarios" "$(ORACLE) --scenarios" \
		"oracle: 300 programs" "$(ORACLE) --seed 2 --programs 300" \
		"turns" "$(SWIFT) run $(TOOLS) -c release --skip-build grun-turns" \
		"growth" "$(STEP_MAKE) growth" \
		"ends" scripts/check-ends \
		"stalls" "scripts/stalls 5" \
		"cost of traces" scripts/trace-cost \
		"killed ports" "$(SWIFT) build --product grun-test-child && scripts/kill-ports --once" \
		"clients" scripts/clients \
		"daemon" scripts/check-daemon \
		"service" scripts/check-service \
		"under a host" scripts/hosted \
		"scripts and links" "$(STEP_MAKE) lint-scripts"

build: deps
	$(SWIFT) build

## Foundation's run loop as a guest of ours: what arrives under which driver, and the oracle as a guest.
test-foundation: check-deps gtk-deps
	scripts/test-foundation

## The library for C programs: PREFIX, DESTDIR, LIBDIR and STATIC as scripts/install says.
install: c-deps
	scripts/install

uninstall:
	scripts/install uninstall

## The documentation of the Swift interface, in .build/docs: a declaration without a comment, a broken link and an
## article's program that does not compile are errors.
docs: deps
	@$(call install,$(DOCS_PACKAGES))
	scripts/docs

## The page of a timeline in a browser: it is opened, clicked and zoomed. SCREENSHOTS=1: the picture of README.md anew.
inspect-pictures: deps
	@$(call install,$(PICTURE_PACKAGES))
	scripts/inspect-pictures

## The reference of the C interface, from the comments of its header, in .build/c-reference.
c-reference: c-deps
	@$(call install,gi-docgen)
	scripts/c-reference

## Which items of the behaviour list the tests prove; that each fault of items-bite still has its line in the sources,
## and each message its line in docs/c/messages.md; the lock, on paper.
items:
	scripts/items
	scripts/items-bite --check
	scripts/check-messages
	scripts/lock-model

## Puts one-line faults into the sources, one by one: each must make a test fail that names the item it breaks. BITE:
## its options.
items-bite: check-deps
	scripts/items-bite --jobs 2 $(BITE)

## Changes the code at random places, for five minutes: the tests must notice. MUTATE="--changed main": where you
## touched it; MUTATE="--seconds 0": every place, which takes days.
mutate: check-deps
	scripts/mutate $(MUTATE)

## The long comparison with the real CFRunLoop.
oracle: deps
	$(SWIFT) run $(TOOLS) -c release grun-oracle --seed $${SEED:-$$(date +%s)} --programs $${PROGRAMS:-20000}

## Who is served when something never ends: each kind of item beside each other, in each way to drive a loop. Ten
## minutes; writes docs/internals/turns.md.
turns: deps
	$(SWIFT) run $(TOOLS) -c release grun-turns --whole --page docs/internals/turns.md

## How operations grow: N things of each kind and 4 N. KINDS: only those whose names contain one of these words.
growth: deps
	$(SWIFT) build $(TOOLS) -c release --product grun-growth
	$(SWIFT) run $(TOOLS) -c release --skip-build grun-growth $(KINDS)

## An idle loop makes no wake-up, whoever drives.
idle: check-deps
	scripts/idle

## What holds while a host drives, with its figures: over plain GLib, and in windows of GTK 3 and GTK 4.
hosted: check-deps gtk-deps
	scripts/hosted
	scripts/test-gtk

## A hundred stalls under each driver: each is told of in time, by the function at fault.
stalls: deps
	scripts/stalls

## What a record of a timeline costs.
records: deps
	scripts/records

## What the trace recorder, the timeline and the stall monitor cost while they are off.
trace-cost: check-deps
	scripts/trace-cost

## The tests, 20 times in a row, with every core busy in every second run.
stable: deps
	scripts/stable

## Producers hand everything to loops that come and go, under both drivers, and the account must balance: SECONDS=60,
## SEED, DRIVER=own|host|both.
soak: deps
	scripts/soak

## Random operations on each hand-written container, beside a plain model of it, under the address sanitizer:
## OPERATIONS=100000000 is the long run, SEED, MODEL.
models: c-deps
	scripts/models address

## Random programs, the oracle, the soak and the tests in debug builds that perturb their own timing: SEED, SEEDS=1000;
## SECONDS=60 for a part of it.
perturb: deps
	scripts/perturb

## The tests, and 20 s each of soak and fuzz, under the compiler's sanitizers: data races; memory errors and leaks.
test-tsan: c-deps
	scripts/sanitize thread

test-asan: c-deps
	scripts/sanitize address

## The part of both that needs no build of the tests.
test-sanitizers: c-deps
	scripts/sanitize --quick thread
	scripts/sanitize --quick address

## The GTK 3 and GTK 4 programs, and tests with GRunLoopTesting, under Xvfb and headless weston. GATE_FRAMES=1: frame
## rates are gates; SCREENSHOTS=1: new pictures for the README.
test-gtk: gtk-deps
	scripts/test-gtk
	scripts/check-testing

## The C interface: installed, compiled against, run without Swift, from Python, with bad input, under valgrind; and
## against the real CFRunLoop.
test-c: c-deps gtk-deps
	@$(call install,$(C_CHECK_PACKAGES))
	scripts/test-c

## Random calls of every function of the C interface for SECONDS, from SEED: ends with 1 on a crash, a deadlock, a
## message that is not documented. Before it what comes over the wire of message ports, for 10 s of that, and honest
## clients beside hostile peers: who waits how long, and what the attacked process holds.
fuzz: c-deps
	scripts/check-messages
	scripts/fuzz

## kill -9 at each system call of a message port, on both sides; and 100 processes that want one name.
kill-ports: check-deps
	$(SWIFT) build --product grun-test-child
	scripts/kill-ports
	scripts/race-ports

## The tests in a Debian of SUITE, with its GLib and GTK: scripts/test-debian says what can be chosen. As root.
test-debian: check-deps
	@$(call install,debootstrap)
	scripts/test-debian $(SUITE)

## What an operation of each hot path costs, in instructions, allocations and system calls, against
## Benchmarks/limits.tsv.
counts: check-deps
	@$(call install,util-linux)
	Benchmarks/counts

## Ours and the peers, interleaved on one core: Benchmarks/RESULTS.md, SCALE.md and their charts.
bench: bench-build
	Benchmarks/run --rounds 5 --output .build/bench.tsv
	Benchmarks/report .build/bench.tsv Benchmarks/results.svg > Benchmarks/RESULTS.md
	Benchmarks/scale Benchmarks/scale.svg > Benchmarks/SCALE.md

## The same in two rounds, to the terminal.
bench-quick: bench-build
	Benchmarks/run --rounds 2 --output .build/bench.tsv
	Benchmarks/report .build/bench.tsv

bench-build: c-deps
	@$(call install,$(BENCH_PACKAGES))
	$(SWIFT) build --package-path Benchmarks -c release
	Benchmarks/build-peers

format:
	$(SWIFT) format format -i -r $(SWIFT_CODE)

## The layout of code, and the rules of scripts/check-lines and scripts/check-rules.
lint: check-deps
	$(SWIFT) format lint --strict -r $(SWIFT_CODE)
	scripts/check-lines
	scripts/check-rules
	scripts/check-budgets
	scripts/check-words

## The scripts with shellcheck and ruff, and with lychee the relative links and #anchors of the documents.
lint-scripts: lint-deps
	scripts/lint-scripts

## The library uses nothing of GLib that is newer than 2.56: warnings, which are errors, say so. And Swift names no
## flag that a newer GLib renames.
glib-api: deps
	scripts/glib-flags
	$(SWIFT) build --target GRunLoopC --scratch-path .build/glib-2.56 \
		-Xcc -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_56 -Xcc -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_56

deps:
	@command -v $(SWIFT) > /dev/null || { echo "Swift 6.3 is needed: https://swift.org/install" >&2; exit 1; }
	@$(call install,$(PACKAGES))

gtk-deps: deps
	@$(call install,$(GTK_PACKAGES))

c-deps: deps
	@$(call install,$(C_PACKAGES))

check-deps: deps
	@$(call install,$(CHECK_PACKAGES))

lint-deps:
	@$(call install,$(LINT_PACKAGES))

clean:
	$(SWIFT) package clean
