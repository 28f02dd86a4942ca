# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Common code to be sourced. It changes to the repository's folder. $work is a folder that is removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${SWIFT:=swift}"
work=$(mktemp -d)
# A script may redefine this function to clean up at its end.
at_exit() { :; }
trap 'at_exit || true; rm -rf "$work"' EXIT

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}
# Waits up to 20 s until a command succeeds. The first argument says what is awaited.
until_so() {
    local what=$1
    shift
    for _ in $(seq 1000); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.02
    done
    fail "not within 20 s: $what"
}
# Runs a command, and prints its output only if it fails.
quietly() {
    "$@" > "$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; fail "$1 failed"; }
}
build_quietly() { quietly "$SWIFT" build "$@"; }
# The first arguments of a build of the package Tools, which has the oracle, the probe and other programs.
# shellcheck disable=SC2034
tools=(--package-path Tools)
# Prints the product folder of such a build.
built() { "$SWIFT" build "$@" --show-bin-path 2> /dev/null; }
