#!/usr/bin/env bash
# Starts the explorer in a real window on a virtual display, drives it with keys and the pointer, closes it, starts it again to see
# that it remembers, and takes its graphics device away: scripts/window.sh PATH-OF-CONTATTN [FOLDER-FOR-PICTURES]
#
# Nothing here waits for a time: every step waits for what it should bring about, for as long as a busy machine may need.
set -euo pipefail
command=$(realpath "$1")
pictures=${2:-}
patience=${PATIENCE:-90}
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
    if [ -n "$pictures" ]; then mkdir -p "$pictures" && cp "$folder"/*.png "$pictures/" 2>/dev/null || true; fi
    exit 1
}
# until_so WHAT COMMAND...: repeats a command until it is true
until_so() {
    local what=$1 end=$((SECONDS + patience))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "$what (after $patience s)"
        sleep 0.1
    done
}

# A display of its own, on the first number that is free; it stays as it is when the last window closes.
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp -noreset 3>"$folder/display" 2>"$folder/xvfb" &
pids+=($!)
until_so "no virtual display" test -s "$folder/display"
export DISPLAY=":$(cat "$folder/display")"
unset WAYLAND_DISPLAY
# Nothing remembered from before, and nothing left behind.
export HOME=$folder XDG_DATA_HOME=$folder/data XDG_CONFIG_HOME=$folder/config XDG_RUNTIME_DIR=$folder

is_running() { kill -0 "$explorer" 2>/dev/null; }
is_gone() { ! is_running; }
# The window that is there now, if it is not the one that was there before.
finds_window() {
    is_running || fail "the explorer ended by itself"
    window=$(xdotool search --onlyvisible --name '^contattn' 2>/dev/null | head -n 1)
    [ -n "$window" ] && [ "$window" != "${before:-}" ]
}
picture() {
    import -window "$window" "$folder/$1.png" 2>/dev/null
}
# differ A B: how many pixels of two pictures differ; those of different sizes, all
differ() {
    { compare -metric AE "$folder/$1.png" "$folder/$2.png" null: 2>&1 || true; } | awk '/^[0-9.e+]+/ { printf "%d", $1; found = 1 } END { if (!found) print 99999999 }'
}
colors() { identify -format '%k' "$folder/$1.png"; }
# shows NAME: takes a picture that has something in it
shows() { picture "$1" && [ "$(colors "$1")" -gt 30 ]; }
# A cursor that blinks is some dozens of pixels.
is_at_rest() {
    picture "$1" && sleep 0.4 && picture "$1-later" && [ "$(differ "$1" "$1-later")" -lt 200 ]
}
# far NAME PIXELS A...: a picture NAME at rest in which so many pixels differ from each of the others
far() {
    local name=$1 pixels=$2
    shift 2
    is_at_rest "$name" || return 1
    for other in "$@"; do [ "$(differ "$other" "$name")" -gt "$pixels" ] || return 1; done
}
# near NAME PIXELS A: a picture NAME at rest in which fewer pixels differ from another
near() {
    is_at_rest "$1" && [ "$(differ "$3" "$1")" -lt "$2" ]
}
keys() { xdotool key --clearmodifiers "$@"; }
focus() {
    xdotool windowfocus --sync "$window" 2>/dev/null || true
    # Where the pointer marks nothing.
    xdotool mousemove --window "$window" 5 895
}
# start RENDERER [OPTION...]: opens the window and waits until it stands
start() {
    local began renderer=$1
    shift
    began=$(date +%s%N)
    "$command" explore --theme light --renderer "$renderer" "$@" >"$folder/log" 2>&1 &
    explorer=$!
    pids+=($explorer)
    until_so "no window" finds_window
    until_so "an empty window" shows start
    echo "window: up after $((($(date +%s%N) - began) / 1000000)) ms with $renderer"
    focus
}
closed() {
    keys ctrl+q
    until_so "Ctrl+Q does not close the window" is_gone
    wait "$explorer" || fail "exit code $?"
}
has_size() { [ "$(xdotool getwindowgeometry --shell "$window" | awk -F= '/WIDTH|HEIGHT/ { print $2 }' | xargs)" = "$1" ]; }

# OpenGL first: a virtual display shows a frame of Vulkan's up to a second late.
start glow
until_so "the first screen does not come to rest" is_at_rest first
keys ctrl+p
until_so "Ctrl+P shows nothing" far palette 5000 first
xdotool type --delay 40 'a spike'
until_so "the palette does not hear" far typed 1000 palette
keys Return
# The palette is gone and the row is another.
until_so "the palette does nothing" far spike 3000 first typed
keys ctrl+z
# The buttons of undo and redo differ, and no more.
until_so "undo by keys does not lead back" near undone 3000 first
keys ctrl+y
until_so "redo by keys does not lead on" near redone 3000 spike
keys ctrl+z
until_so "undo by keys does not lead back again" near undone 3000 first
# A node is dragged: the highest one stands a third across the window.
xdotool mousemove --window "$window" 486 159 mousedown 1
for step in $(seq 10); do xdotool mousemove --window "$window" 486 $((159 + 8 * step)); sleep 0.05; done
xdotool mouseup 1 mousemove --window "$window" 5 895
until_so "dragging a node changes nothing" far dragged 3000 undone
seen=(dragged)
for view in 3 4 5 6 2; do
    keys "ctrl+$view"
    until_so "Ctrl+$view does not show another view" far "view-$view" 20000 "${seen[@]}"
    seen+=("view-$view")
done
xdotool mousemove --window "$window" 400 500
until_so "the pointer does nothing" far hovered 200 view-2
for size in '300 200' '200 150' '1400 900'; do
    # shellcheck disable=SC2086
    xdotool windowsize "$window" $size
    until_so "the window does not become $size" has_size "$size"
    until_so "nothing is drawn at $size" shows resized
done
closed

start wgpu
until_so "the explorer forgot that the Matrix view was in front" far again 20000 first
closed

# The device is taken away once the window has drawn: another window goes on where it was, and says so.
start wgpu --lose-device
before=$window
until_so "no window after the graphics device was lost" finds_window
until_so "an empty window after the graphics device was lost" shows lost
focus
until_so "what was shown is lost with the device" far other 20000 first
closed
if [ -n "$pictures" ]; then mkdir -p "$pictures" && cp "$folder"/*.png "$pictures/"; fi
echo "window: started, driven, closed and remembered; a lost device lost nothing"
