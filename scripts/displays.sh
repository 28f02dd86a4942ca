# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # common.sh sets $work.
# Display servers for GTK programs: Xvfb and a headless weston. Source it after common.sh, and call start_displays, or
# start_x11 for Xvfb alone. The servers end with the script.

servers=()
at_exit() {
    for server in "${servers[@]}"; do kill "$server" 2> /dev/null || true; done
    wait 2> /dev/null || true
}

start_x11() {
    # Isolates the programs from the user's session: no buses, no GL driver, no settings. A program on X11 without an
    # address would start a bus, whose portal mounts a file system in XDG_RUNTIME_DIR.
    export DBUS_SESSION_BUS_ADDRESS=disabled: XDG_RUNTIME_DIR=$work XDG_CONFIG_HOME=$work
    export NO_AT_BRIDGE=1 GTK_A11Y=none GSK_RENDERER=cairo GIO_USE_VFS=local GDK_DISABLE=gl,vulkan
    unset WAYLAND_DISPLAY DISPLAY
    Xvfb -displayfd 3 -screen 0 1024x768x24 -nolisten tcp 3> "$work/display" > "$work/xvfb.log" 2>&1 &
    servers+=($!)
    until_so "Xvfb starts" test -s "$work/display"
    display=:$(cat "$work/display")
}

start_displays() {
    start_x11
    export HOME=$work
    printf '[core]\nrepaint-window=16\nidle-time=0\n' > "$work/weston.ini"
    weston --backend=headless-backend.so --socket=grunloop --config="$work/weston.ini" --width=1024 --height=768 \
        > "$work/weston.log" 2>&1 &
    servers+=($!)
    until_so "weston starts" test -S "$work/grunloop"
}

# Runs a command on X11 or on Wayland.
on() {
    local system=$1
    shift
    if [ "$system" = X11 ]; then
        DISPLAY=$display GDK_BACKEND=x11 "$@"
    else
        WAYLAND_DISPLAY=grunloop GDK_BACKEND=wayland "$@"
    fi
}
