# GRunLoop: what a newcomer and the CI call. Each target installs what it needs from Debian.

SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PACKAGES := libglib2.0-dev
SWIFT_CODE := Sources Tests Package.swift docs/template Examples/Sources Examples/Package.swift Benchmarks/Sources \
	Benchmarks/Package.swift Tools/Sources Tools/Package.swift Tools/Mutations/Sources Tools/Mutations/Package.swift
# The oracle, the turns, growth and others are a package of their own.
TOOLS := --package-path Tools
# Make runs a line with its own variable's name even with -n.
STEP_MAKE = $(MAKE)
ORACLE = $(SWIFT) run $(TOOLS) -c release --skip-build grun-oracle
# What the checks need beside it.
CHECK_PACKAGES := strace valgrind python3 rsync git binutils dbus-daemon
# What the documentation needs beside docc, which stands beside the compiler.
DOCS_PACKAGES := pkg-config python3
SITE_PACKAGES := $(DOCS_PACKAGES) gi-docgen python3-markdown
# What installing the C library needs, and what checking it does.
C_PACKAGES := binutils pkg-config gcc libgirepository1.0-dev gobject-introspection python3 valac
C_CHECK_PACKAGES := abigail-tools g++ gi-docgen gjs patchelf python3-gi valac valgrind xauth
# What building the Debian packages needs.
DEB_PACKAGES := debhelper dh-python gi-docgen lintian rsync
# The peers of the benchmarks.
BENCH_PACKAGES = gcc g++ pkg-config libuv1-dev libev-dev libevent-dev libsystemd-dev util-linux dbus-daemon \
	qtbase5-dev libasio-dev librust-tokio-dev $(shell command -v cargo > /dev/null || echo cargo)
# What checks scripts and links.
LINT_PACKAGES := shellcheck python3-venv
# What opens the page of a timeline.
PICTURE_PACKAGES := chromium fonts-dejavu-core python3 python3-venv
# The desktop's portal, and what shows its dialog and presses its keys.
PORTAL_PACKAGES := xdg-desktop-portal xdg-desktop-portal-gtk xvfb xauth xdotool dbus-daemon
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

.PHONY: site check-site deb test-deb demo window test check build install uninstall c-reference format lint \
	lint-scripts glib-api items items-bite mutate oracle turns idle hosted growth models stalls records \
	inspect-pictures trace-cost stable soak docs fuzz kill-ports test-tsan test-asan test-sanitizers test-gtk \
	test-c test-foundation test-gio test-glib test-debian bridges test-bridges perturb counts bench bench-quick bench-gio \
	bench-build deps check-deps gtk-deps c-deps lint-deps ci-deps clean
# apt-get and SwiftPM each hold a lock, and some steps measure time.
.NOTPARALLEL:

## Builds and runs the tour of self-checking scenarios.
demo: deps
	$(SWIFT) run -c release gloop-demo

## Opens a GTK 4 window that a task of the main actor, a dispatch queue and run-loop timers update.
window: deps
	@$(call install,libgtk-4-dev)
	$(SWIFT) run --package-path Examples gtk4-window

## Runs the tests. VERBOSE=1 prints the output of each step.
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

## Runs the slower checks, which must also pass before a change lands.
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

## Measures what other bridges and this library do in a GTK program, and prints the table of the guide. Takes 80 s.
bridges: deps
	rm -f Examples/.build/release.yaml
	@for product in bridge-async swift-plugin bridge-table; do \
		$(SWIFT) build --package-path Examples -c release --product $$product > /dev/null || exit; \
	done
	$(SWIFT) run --package-path Examples -c release --skip-build bridge-table

## Tests programs that have a main loop already, before and after they use this library, and beside other bridges.
test-bridges: check-deps
	scripts/test-bridges

## Tests Foundation's run loop as a guest: the work that arrives under each driver, and the oracle as a guest.
test-foundation: check-deps gtk-deps
	scripts/test-foundation

## Installs the library for C programs. It installs no packages: `make c-deps` does. scripts/install explains PREFIX,
## DESTDIR, LIBDIR and STATIC.
install:
	scripts/install

uninstall:
	scripts/install uninstall

## Builds the Debian packages of the C library in .build/deb.
deb: c-deps
	@$(call install,$(DEB_PACKAGES))
	scripts/deb

## Installs the packages in fresh systems without Swift, and uses them there: as root. SUITE="bookworm trixie" are these
## systems.
test-deb: deb
	@$(call install,debootstrap)
	scripts/test-deb $(SUITE)

## Builds the documentation of the Swift interface in .build/docs. Undocumented declarations, broken links and article
## programs that do not compile are errors.
docs: deps
	@$(call install,$(DOCS_PACKAGES))
	scripts/docs

## Checks a timeline's page in a browser: opens, clicks and zooms it. SCREENSHOTS=1 renews the picture of README.md.
inspect-pictures: deps
	@$(call install,$(PICTURE_PACKAGES))
	scripts/inspect-pictures

## Builds the site of the documentation in .build/site. BASE is its path on the server, such as /GRunLoop/.
site: c-deps
	@$(call install,$(SITE_PACKAGES))
	mkdir -p .build/site
	OUT=.build/site/swift BASE="$(patsubst %/,%,$(BASE))/swift" scripts/docs
	rm -rf .build/site/c
	scripts/c-reference .build/site/c
	scripts/site $(patsubst %/,%,$(BASE))/

## Opens the site in a browser, and follows its links. PICTURES is a folder for pictures of its pages.
check-site:
	$(MAKE) site BASE=
	@$(call install,$(PICTURE_PACKAGES))
	scripts/browser
	.build/inspect-venv/bin/python scripts/check-site $(PICTURES)

## Builds the reference of the C interface in .build/c-reference, from the comments of its header.
c-reference: c-deps
	@$(call install,gi-docgen)
	scripts/c-reference

## Checks that the tests prove the items of the behaviour list, that each fault of items-bite finds its line, that
## docs/c/messages.md lists each message, and the model of the lock.
items:
	scripts/items
	scripts/items-bite --check
	scripts/check-messages
	scripts/lock-model

## Puts one-line faults into the sources, one by one. Each must fail a test that names the broken item. BITE: its
## options.
items-bite: check-deps
	scripts/items-bite --jobs 2 $(BITE)

## Changes the code at random places for five minutes. The tests must notice each change. MUTATE="--changed main" tries
## only changed lines; MUTATE="--seconds 0" tries every place, which takes days.
mutate: check-deps
	scripts/mutate $(MUTATE)

## Runs the long comparison with the real CFRunLoop.
oracle: deps
	$(SWIFT) run $(TOOLS) -c release grun-oracle --seed $${SEED:-$$(date +%s)} --programs $${PROGRAMS:-20000}

## Checks turns beside endless work: each kind of item beside each other kind, under each driver. Takes ten minutes;
## writes docs/internals/turns.md.
turns: deps
	$(SWIFT) run $(TOOLS) -c release grun-turns --whole --page docs/internals/turns.md

## Measures how operations grow: N things of each kind and 4 N. KINDS selects kinds by words of their names.
growth: deps
	$(SWIFT) build $(TOOLS) -c release --product grun-growth
	$(SWIFT) run $(TOOLS) -c release --skip-build grun-growth $(KINDS)

## Checks that an idle loop makes no wake-up under each driver.
idle: check-deps
	scripts/idle

## Checks the library under a host, with figures: over plain GLib, and in windows of GTK 3 and GTK 4.
hosted: check-deps gtk-deps
	scripts/hosted
	scripts/test-gtk

## Makes a hundred stalls under each driver. Each must be reported in time, with the function at fault.
stalls: deps
	scripts/stalls

## Measures the cost of a timeline's record.
records: deps
	scripts/records

## Measures the cost of the trace recorder, the timeline and the stall monitor while they are off.
trace-cost: check-deps
	scripts/trace-cost

## Runs the tests 20 times in a row, with every core busy in every second run.
stable: deps
	scripts/stable

## Producers pass everything to loops that come and go, under both drivers, and the account must balance: SECONDS=60,
## SEED, DRIVER=own|host|both.
soak: deps
	scripts/soak

## Makes random operations on each hand-written container beside a plain model, under the address sanitizer.
## OPERATIONS=100000000 is the long run; SEED, MODEL.
models: c-deps
	scripts/models address

## Runs random programs, the oracle, the soak and the tests in debug builds that perturb their own timing: SEED,
## SEEDS=1000; SECONDS=60 runs a part.
perturb: deps
	scripts/perturb

## Runs the tests, and 20 s each of soak and fuzz, under the compiler's sanitizers: data races; memory errors and leaks.
test-tsan: c-deps
	scripts/sanitize thread

test-asan: c-deps
	scripts/sanitize address

## Runs the part of both that does not build the tests.
test-sanitizers: c-deps
	scripts/sanitize --quick thread
	scripts/sanitize --quick address

## Runs the GTK 3 and GTK 4 programs, and tests with GRunLoopTesting, under Xvfb and headless weston. GATE_FRAMES=1
## makes frame rates gates; SCREENSHOTS=1 writes new pictures for the README.
test-gtk: gtk-deps
	scripts/test-gtk
	scripts/check-testing

## GRunLoopGIO in release builds: the examples do what they are for, also with the desktop's portal, and ROUNDS=4 storms
## of cancellation leave nothing.
test-gio: check-deps
	@$(call install,$(PORTAL_PACKAGES))
	scripts/test-gio
	scripts/test-portal

## Runs GLib's own tests with the main run loop in the default context of each test. Takes five minutes.
test-glib: c-deps
	@$(call install,libglib2.0-tests dbus-daemon)
	scripts/test-glib

## Tests the C interface: installed, compiled against, run without Swift, from Python, with bad input, under valgrind,
## and against the real CFRunLoop.
test-c: c-deps gtk-deps
	@$(call install,$(C_CHECK_PACKAGES))
	scripts/test-c

## Makes random calls of every function of the C interface for SECONDS, from SEED. The status is 1 after a crash, a
## deadlock or an undocumented message. Before that it attacks message ports over the wire for up to 10 s, and then
## measures honest clients beside hostile peers.
fuzz: c-deps
	scripts/check-messages
	scripts/fuzz

## Kills each side of a message port at each system call; and runs 100 processes that take one name.
kill-ports: check-deps
	$(SWIFT) build --product grun-test-child
	scripts/kill-ports
	scripts/race-ports

## Runs the tests in a Debian of SUITE, with its GLib and GTK, as root. scripts/test-debian explains the options.
test-debian: check-deps
	@$(call install,debootstrap)
	scripts/test-debian $(SUITE)

## Compares the cost of an operation of each hot path, in instructions, allocations and system calls, with
## Benchmarks/limits.tsv.
counts: check-deps
	@$(call install,util-linux)
	Benchmarks/counts

## Benchmarks the library and its peers, interleaved on one core: Benchmarks/RESULTS.md, SCALE.md and their charts.
bench: bench-build
	Benchmarks/run --rounds 10 --output .build/bench.tsv
	Benchmarks/report .build/bench.tsv Benchmarks/results.svg > Benchmarks/RESULTS.md
	Benchmarks/scale --rounds 5 Benchmarks/scale.svg > Benchmarks/SCALE.md

## Runs the same benchmarks in two rounds, and prints the results.
bench-quick: bench-build
	Benchmarks/run --rounds 2 --output .build/bench.tsv
	Benchmarks/report .build/bench.tsv

## Compares GIO awaited in Swift with callbacks of C, alternately in one process. It writes a file of 1 GiB.
bench-gio: deps
	$(SWIFT) run --package-path Benchmarks -c release grun-bench-gio 3 Benchmarks/.build

bench-build: c-deps
	@$(call install,$(BENCH_PACKAGES))
	$(SWIFT) build --package-path Benchmarks -c release
	Benchmarks/build-peers

format:
	$(SWIFT) format format -i -r $(SWIFT_CODE)

## Checks the layout of the code, and the rules of scripts/check-lines and scripts/check-rules.
lint: check-deps
	$(SWIFT) format lint --strict -r $(SWIFT_CODE)
	scripts/check-lines
	scripts/check-rules
	scripts/check-budgets
	scripts/check-words
	scripts/check-dbus-proxy

## Checks the scripts with shellcheck and ruff, and the documents' relative links and #anchors with lychee.
lint-scripts: lint-deps
	scripts/lint-scripts

## Checks that the library uses no GLib function newer than 2.56, because the warnings are errors; and that Swift names
## no flag that a newer GLib renames.
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

## Installs what .ci/run needs.
ci-deps: check-deps gtk-deps c-deps lint-deps
	@$(call install,$(C_CHECK_PACKAGES) $(SITE_PACKAGES) $(PICTURE_PACKAGES) $(PORTAL_PACKAGES))

clean:
	$(SWIFT) package clean
