#!/usr/bin/env bash
# Starts the explorer in a real window on a virtual display, drives it with keys and the pointer, closes it, and starts it again to
# see that it remembers: scripts/window.sh PATH-OF-CONTATTN [FOLDER-FOR-PICTURES]
set -euo pipefail
command=$(realpath "$1")
pictures=${2:-}
folder=$(mktemp -d)
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap cleanup EXIT
fail() {
    echo "window: $*" >&2
    sed 's/^/  explorer: /' "$folder/log" >&2 || true
    exit 1
}

# A display of its own, on the first number that is free.
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp 3>"$folder/display" 2>"$folder/xvfb" &
pids+=($!)
for _ in $(seq 100); do [ -s "$folder/display" ] && break; sleep 0.1; done
[ -s "$folder/display" ] || fail "no virtual display: $(cat "$folder/xvfb")"
export DISPLAY=":$(cat "$folder/display")"
unset WAYLAND_DISPLAY
# Nothing remembered from before, and nothing left behind.
export HOME=$folder XDG_DATA_HOME=$folder/data XDG_CONFIG_HOME=$folder/config XDG_RUNTIME_DIR=$folder

# start RENDERER: opens the window and waits until it stands.
start() {
    local began
    began=$(date +%s%N)
    "$command" explore --theme light --renderer "$1" >"$folder/log" 2>&1 &
    explorer=$!
    pids+=($explorer)
    for _ in $(seq 400); do
        kill -0 $explorer 2>/dev/null || fail "the explorer ended by itself"
        window=$(xdotool search --onlyvisible --name '^contattn' 2>/dev/null | head -n 1) && [ -n "$window" ] && break
        sleep 0.05
    done
    [ -n "${window:-}" ] || fail "no window after 20 s"
    echo "window: up after $((($(date +%s%N) - began) / 1000000)) ms with $1"
    xdotool windowfocus --sync "$window" 2>/dev/null || true
    sleep 1
}
picture() {
    import -window "$window" "$folder/$1.png"
    if [ -n "$pictures" ]; then mkdir -p "$pictures" && cp "$folder/$1.png" "$pictures/"; fi
}
# differ A B: how many pixels of two pictures differ
differ() {
    compare -metric AE "$folder/$1.png" "$folder/$2.png" null: 2>&1 | sed 's/[ (].*//' || true
}
keys() {
    xdotool key --clearmodifiers "$@"
    sleep 0.4
}
closed() {
    keys ctrl+q
    for _ in $(seq 100); do kill -0 $explorer 2>/dev/null || break; sleep 0.1; done
    kill -0 $explorer 2>/dev/null && fail "Ctrl+Q does not close the window"
    wait $explorer || fail "exit code $?"
}

start wgpu
picture first
[ "$(identify -format '%k' "$folder/first.png")" -gt 30 ] || fail "the first screen is empty"
keys ctrl+p
picture palette
[ "$(differ first palette)" -gt 5000 ] || fail "Ctrl+P shows nothing"
xdotool type --delay 40 'a spike'
keys Return
sleep 1
picture spike
[ "$(differ first spike)" -gt 3000 ] || fail "the palette does nothing"
# The pointer drags the spike down: somewhere in the upper left quarter of the window.
keys ctrl+z
sleep 0.6
picture undone
[ "$(differ first undone)" -lt 3000 ] || fail "undo does not lead back"
keys ctrl+2
sleep 1
picture matrix
[ "$(differ first matrix)" -gt 20000 ] || fail "Ctrl+2 does not show the Matrix view"
xdotool mousemove --window "$window" 500 500
sleep 0.6
picture hovered
[ "$(differ matrix hovered)" -gt 200 ] || fail "the pointer does nothing"
xdotool windowsize "$window" 300 200
sleep 0.6
xdotool windowsize "$window" 1400 900
sleep 0.6
closed

start glow
picture again
[ "$(differ first again)" -gt 20000 ] || fail "the explorer forgot that the Matrix view was in front"
closed
echo "window: started, driven, closed and remembered"
