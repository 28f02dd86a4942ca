# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts do alike: source it. It goes to the repository's folder; $work is a folder that goes with the script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${SWIFT:=swift}"
work=$(mktemp -d)
# What else is to end with the script.
at_exit() { :; }
trap 'at_exit || true; rm -rf "$work"' EXIT

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}
# What it prints is only seen when it fails.
quietly() {
    "$@" > "$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; fail "$1 failed"; }
}
# SWIFT may be several words, as in "nice swift", so it stands without quotes here and where it is a command.
# shellcheck disable=SC2086
build_quietly() { quietly $SWIFT build "$@"; }
# The package of the oracle, the probe and other programs: the first arguments of a build.
# shellcheck disable=SC2034
tools=(--package-path Tools)
# The folder of such a build.
built() { $SWIFT build "$@" --show-bin-path 2> /dev/null; }
