#!/usr/bin/env bash
# Plants one mistake at a time in a copy of the proofs and asserts that the
# build breaks.  The mistakes stand in mutations.tsv: file, text (which must
# occur exactly once), what it becomes, description.
#
#   proofs/mutate.sh              run all; non-zero exit if a mistake survives
#   proofs/mutate.sh --only FILE  those of FILE.v alone; may be given several times
#   with --record as well         write what broke into the table of docs/proofs.md,
#                                 where rows of mistakes that were not run stay
set -euo pipefail
cd "$(dirname "$0")"
record=no
only=
while [ $# -gt 0 ]; do
    case "$1" in
        --record) record=yes ;;
        --only) only="$only ${2:?"--only needs the name of a file"} "; shift ;;
        *) echo "usage: $0 [--record] [--only FILE]..." >&2; exit 2 ;;
    esac
    shift
done
./check.sh
limit="${PROOFS_TIMEOUT:-300}"
work=build/mutant
table=build/mutations.md
: > "$table"
survivors=0
total=0
while IFS=$'\t' read -r file from to what; do
    case "$only" in '' | *" $file "*) ;; *) continue ;; esac
    total=$((total + 1))
    count=$(grep -cF -- "$from" "$file.v" || true)
    if [ "$count" != 1 ]; then
        echo "mutation '$what': the text stands $count times in $file.v, not once" >&2; exit 1
    fi
    rm -rf "$work"; mkdir -p "$work"
    reached=no
    caught=
    for m in $(cat order.txt); do
        if [ "$m" = "$file" ]; then
            reached=yes
            content=$(cat "$m.v"; printf x); content=${content%x}
            printf '%s' "${content/"$from"/"$to"}" > "$work/$m.v"
            cmp -s "$m.v" "$work/$m.v" && { echo "mutation '$what' changes nothing" >&2; exit 1; }
        elif [ $reached = no ]; then
            cp "build/$m.vo" "$work/"; continue
        else
            cp "$m.v" "$work/"
        fi
        rc=0
        nice -n 10 timeout "$limit" coqc -q -w none -R "$work" ContAttn "$work/$m.v" > "$work/out" 2>&1 || rc=$?
        if [ $rc = 124 ]; then echo "mutation '$what': no answer within $limit s" >&2; exit 1; fi
        if [ $rc != 0 ]; then
            line=$(grep -oE 'line [0-9]+' "$work/out" | head -1 | grep -oE '[0-9]+')
            name=$(head -n "$line" "$work/$m.v" | grep -oE '^(Theorem|Lemma|Corollary|Definition|Fixpoint) [A-Za-z0-9_]+' | tail -1 | cut -d' ' -f2)
            caught="$m.v: $name"
            break
        fi
    done
    if [ -z "$caught" ]; then
        # everything compiles: the committed list of theorems and statements must object
        if [ "$(awk -f theorems.awk "$work/$file.v" | cut -f1,2)" != "$(awk -f theorems.awk "$file.v" | cut -f1,2)" ]; then
            caught="theorems.json"
        fi
    fi
    if [ -z "$caught" ]; then
        echo "SURVIVED: $file.v: $what" >&2
        survivors=$((survivors + 1)); caught="**nothing**"
    else
        echo "caught by $caught: $what"
    fi
    printf '| %s.v | %s | %s |\n' "$file" "${what//|/\\|}" "$caught" >> "$table"
done < mutations.tsv
rm -rf "$work"
echo "$((total - survivors)) of $total planted mistakes break the build"
if [ $record = yes ]; then
    awk -F'\t' -v table="$table" -v doc=../docs/proofs.md '
        function key(row, parts) { split(row, parts, / \| /); return parts[1] " | " parts[2] }
        BEGIN {
            while ((getline line < doc) > 0) if (line ~ /^\| [A-Za-z]+\.v \| /) rows[key(line)] = line
            while ((getline line < table) > 0) rows[key(line)] = line
        }
        {
            what = $4; gsub(/\|/, "\\|", what); k = "| " $1 ".v | " what
            if (!(k in rows)) { left++; next }
            all++; if (rows[k] !~ /\| \*\*nothing\*\* \|$/) caught++
            body = body rows[k] "\n"
        }
        END {
            printf "%d of %d planted changes break the build.", caught, all
            if (left) printf " %d more stand in `proofs/mutations.tsv`; they were not run for this record.", left
            printf "\n\n| file | planted change | what breaks |\n|---|---|---|\n%s", body
        }
    ' mutations.tsv > build/mutations-table.md
    awk '
        /<!-- mutations -->/ { print; while ((getline line < "build/mutations-table.md") > 0) print line; skip = 1; next }
        /<!-- end of mutations -->/ { skip = 0 }
        !skip { print }
    ' ../docs/proofs.md > build/proofs.md && cp build/proofs.md ../docs/proofs.md
fi
[ $survivors = 0 ]
