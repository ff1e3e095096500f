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
    { compare -metric AE "$folder/$1.png" "$folder/$2.png" null: 2>&1 || true; } | awk '{ printf "%d", $1 }'
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

# changed A NAME PIXELS WHAT: takes pictures NAME until so many pixels differ from picture A
changed() {
    for _ in $(seq 25); do
        picture "$2"
        [ "$(differ "$1" "$2")" -gt "$3" ] && return
        sleep 0.2
    done
    fail "$4"
}

# OpenGL first: a virtual display shows a frame of Vulkan's up to a second late.
start glow
# Where the pointer marks nothing.
xdotool mousemove --window "$window" 5 895
sleep 0.5
picture first
[ "$(identify -format '%k' "$folder/first.png")" -gt 30 ] || fail "the first screen is empty"
keys ctrl+p
changed first palette 5000 "Ctrl+P shows nothing"
xdotool type --delay 40 'a spike'
keys Return
changed first spike 3000 "the palette does nothing"
keys ctrl+z
for _ in $(seq 25); do
    picture undone
    [ "$(differ first undone)" -lt 3000 ] && break
    sleep 0.2
done
# The buttons of undo and redo differ, and no more.
[ "$(differ first undone)" -lt 3000 ] || fail "undo does not lead back"
# A node is dragged: the highest one stands a third across the window.
xdotool mousemove --window "$window" 486 159 mousedown 1
for step in $(seq 10); do xdotool mousemove --window "$window" 486 $((159 + 8 * step)); sleep 0.05; done
xdotool mouseup 1 mousemove --window "$window" 5 895
changed undone dragged 3000 "dragging a node changes nothing"
keys ctrl+2
changed first matrix 20000 "Ctrl+2 does not show the Matrix view"
xdotool mousemove --window "$window" 400 500
changed matrix hovered 200 "the pointer does nothing"
for size in '300 200' '200 150' '1400 900'; do
    xdotool windowsize "$window" $size
    sleep 0.6
done
closed

start wgpu
changed first again 20000 "the explorer forgot that the Matrix view was in front"
closed
echo "window: started, driven, closed and remembered"
