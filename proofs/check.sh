#!/usr/bin/env bash
# Compiles all proofs and compares what Coq exports with the committed lists.
#
#   proofs/check.sh            check; non-zero exit on any difference
#   proofs/check.sh --update   rewrite assumptions.txt, statements.txt, theorems.json
#                              and the table in docs/proofs.md
#
# Needs Coq 8.16 with Coquelicot, Interval and Gappa (Debian: coq libcoq-coquelicot
# libcoq-interval libcoq-gappa gappa).  With root and apt-get at hand they are
# installed if missing.
set -euo pipefail
cd "$(dirname "$0")"
update=no
case "${1:-}" in
    '') ;;
    --update) update=yes ;;
    *) echo "usage: $0 [--update]" >&2; exit 2 ;;
esac

packages="coq libcoq-coquelicot libcoq-interval libcoq-gappa gappa"
have_coq() {
    command -v coqc >/dev/null && command -v gappa >/dev/null || return 1
    local lib; lib="$(coqc -where)/user-contrib"
    [ -d "$lib/Coquelicot" ] && [ -d "$lib/Interval" ] && [ -d "$lib/Gappa" ]
}
if ! have_coq; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $packages"
        apt-get update -qq >/dev/null || true
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    fi
    if ! have_coq; then
        echo "The proofs need Coq 8.16 with Coquelicot, Interval and Gappa." >&2
        echo "On Debian or Ubuntu: sudo apt-get install --no-install-recommends $packages" >&2
        echo "Elsewhere, with opam: coq.8.16.1 coq-coquelicot.3.2.0 coq-interval.4.6.1 coq-gappa.1.5.2 gappa.1.4.1" >&2
        exit 3
    fi
fi

limit="${PROOFS_TIMEOUT:-300}"
warnings="-ambiguous-paths,-notation-overridden"
run_coqc() { nice -n 10 timeout "$limit" coqc -q -w "$warnings" -R build ContAttn "$@"; }
start=$(date +%s)
mkdir -p build

# 1. Nothing is admitted: no escape hatch stands in the sources.
modules=$(cat order.txt)
for v in *.v; do
    grep -qx "${v%.v}" order.txt || { echo "$v is not in order.txt" >&2; exit 1; }
done
if grep -nE '\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|give_up|Unset Guard|bypass_check)\b' *.v; then
    echo "an unproved statement stands above" >&2; exit 1
fi

# The coefficients that the proofs read are those that the kernels read.
./polynomials.sh --check

# 2. Compile in order; a file is compiled again if it or one before it changed.
again=no
previous=build
for m in $modules; do
    if [ $again = no ] && [ -f "build/$m.vo" ] && [ -f "build/$m.ok" ] && cmp -s "$m.v" "build/$m.v" \
        && ! [ "build/$m.vo" -nt "build/$m.ok" ] && { [ $previous = build ] || ! [ "build/$m.ok" -ot "build/$previous.ok" ]; }
    then previous=$m; continue; fi
    again=yes
    rm -f "build/$m.vo" "build/$m.ok"; cp "$m.v" "build/$m.v"
    t=$(date +%s%N)
    if ! run_coqc "build/$m.v"; then echo "FAILED: $m.v" >&2; exit 1; fi
    touch "build/$m.ok"; previous=$m
    printf '  %-16s %5d ms\n' "$m" $(( ($(date +%s%N) - t) / 1000000 ))
done

# 3. The theorems that the sources declare ...
awk -f theorems.awk $(printf '%s.v ' $modules) > build/theorems.tsv
count=$(wc -l < build/theorems.tsv)

# ... are asked of Coq by name: their statements and the axioms that they rest on.
{
    echo "From Coq Require Import Reals String."
    echo "From Coquelicot Require Import Coquelicot."
    for m in $modules; do echo "From ContAttn Require $m."; done
    echo "Open Scope R_scope. Set Printing Width 96."
    while IFS=$'\t' read -r m name _; do echo "Check ContAttn.$m.$name."; done < build/theorems.tsv
} > build/exported_statements.v
{
    echo "From Coq Require Import String."
    for m in $modules; do echo "From ContAttn Require $m."; done
    # Numbers.v and the files after it apart: they alone may use the axioms of primitive integers.
    for group in other numbers; do
        names=$(awk -F'\t' -v g=$group '
            $1 == "Numbers" { numbers = 1 }
            (numbers ? "numbers" : "other") == g { printf ", @ContAttn.%s.%s", $1, $2 }' build/theorems.tsv)
        echo "Definition all_$group := (Logic.I$names)."
        echo "Check \"file $group\"%string."
        echo "Print Assumptions all_$group."
    done
} > build/exported_axioms.v
run_coqc build/exported_statements.v | sed -E 's/^ContAttn\.//; s/[ \t]+$//' > build/statements.txt
run_coqc build/exported_axioms.v > build/axioms.out
awk '
    /^"file / { file = $2 ~ /^other/ ? "the files before Numbers" : "Numbers and after"; next }
    /^Closed under the global context/ { print file ": none"; next }
    /^[A-Za-z_][A-Za-z0-9_.]*( :|$)/ { if ($1 != "Axioms:") print file ": " $1 }
' build/axioms.out | LC_ALL=C sort > build/assumptions.txt
for group in "the files before Numbers" "Numbers and after"; do
    grep -q "^$group: " build/assumptions.txt || { echo "no answer on the axioms of $group" >&2; exit 1; }
done

# 4. The machine-readable list.
awk -F'\t' '
    function quote(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
    BEGIN { print "[" }
    { if (NR > 1) print ","; printf "  {\"name\": %s, \"file\": %s, \"equation\": %s, \"statement\": %s}", quote($2), quote("proofs/" $1 ".v"), quote($3), quote($4) }
    END { print "\n]" }
' build/theorems.tsv > build/theorems.json

# 5. Compare with what is committed.
awk -F'\t' '
    BEGIN { print "| theorem | speaks of | in words | file |"; print "|---|---|---|---|" }
    { gsub(/\|/, "\\|", $4); printf "| `%s` | %s | %s | %s.v |\n", $2, $3, $4, $1 }
' build/theorems.tsv > build/theorems.md
awk -v table=build/theorems.md '
    /<!-- theorems -->/ { print; while ((getline line < table) > 0) print line; skip = 1; next }
    /<!-- end of theorems -->/ { skip = 0 }
    !skip { print }
' ../docs/proofs.md > build/proofs.md
failed=no
if [ $update = yes ]; then
    cp build/proofs.md ../docs/proofs.md
elif ! diff -u ../docs/proofs.md build/proofs.md; then
    echo "the table in docs/proofs.md differs from the theorems (see above)" >&2; failed=yes
fi
for f in assumptions.txt statements.txt theorems.json; do
    if [ $update = yes ]; then
        cp "build/$f" "$f"
    elif [ "$f" = statements.txt ] && ! coqc --version | grep -q 'version 8\.16'; then
        echo "  statements.txt is printed by Coq 8.16; not compared with this version"
    elif ! diff -u "$f" "build/$f"; then
        echo "proofs/$f differs from what Coq exports (see above)" >&2; failed=yes
    fi
done
[ $failed = no ] || exit 1
echo "proofs: $count theorems in $(echo $modules | wc -w) files hold; axioms as in assumptions.txt ($(( $(date +%s) - start )) s)"
