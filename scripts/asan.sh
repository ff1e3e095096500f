#!/usr/bin/env bash
# The kernels under an address sanitizer: crates/cpu/tests/memory.rs, which is small and touches every edge, and the tests of what
# threads do for one another.
#
# The standard library stays as it was built (that needs its sources), so reads inside it are not watched; the kernels' own
# unchecked reads, loads and stores are.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo 'skipped: asan (no nightly toolchain)'
    exit 0
fi
if [ "$(rustc -vV | sed -n 's/^host: //p')" != "$target" ]; then
    echo "skipped: asan (this machine is not $target)"
    exit 0
fi

# A read beyond the end must be seen, or silence means nothing.
plant=$(mktemp -d)
trap 'rm -rf "$plant"' EXIT
cat >"$plant/plant.rs" <<'EOF'
fn main() {
    let numbers = vec![1.0f32; 8];
    let beyond = std::hint::black_box(8);
    // Wrong on purpose.
    println!("{}", unsafe { *numbers.get_unchecked(beyond) });
}
EOF
rustc +nightly -Copt-level=1 -Zsanitizer=address --target "$target" -o "$plant/plant" "$plant/plant.rs"
if "$plant/plant" >/dev/null 2>"$plant/log" || ! grep -q 'AddressSanitizer: heap-buffer-overflow' "$plant/log"; then
    echo 'asan: a planted read beyond the end was not seen'
    exit 1
fi

sanitized() {
    RUSTFLAGS='-Zsanitizer=address' cargo +nightly test --locked --target "$target" \
        --target-dir "${CARGO_TARGET_DIR:-target}/asan" --package contattn-cpu "$@"
}
sanitized --test memory
# Work that is lent to threads for as long as a call takes.
ASAN_OPTIONS=detect_stack_use_after_return=1 sanitized --lib tiled::threads
echo 'asan: nothing found; a planted read beyond the end was seen'
