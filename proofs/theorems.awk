# Reads the .v files and prints the list of exported theorems, one a line:
# file, name, tag (equation or topic), statement in words, separated by tabs.
# A theorem's words are the comment that ends on the line above it and begins
# with its tag in square brackets.
function flush_comment() {
    gsub(/^[ \t]*\(\*\*[ \t]*/, "", text); gsub(/[ \t]*\*\)[ \t]*$/, "", text)
    gsub(/[ \t\n]+/, " ", text); last = text; last_line = FNR; inside = 0; text = ""
}
FNR == 1 { inside = 0; text = ""; last_line = -9; module = FILENAME; sub(/.*\//, "", module); sub(/\.v$/, "", module) }
inside { text = text " " $0; if ($0 ~ /\*\)[ \t]*$/) flush_comment(); next }
/^\(\*\*/ { text = $0; if ($0 ~ /\*\)[ \t]*$/) flush_comment(); else inside = 1; next }
/^(Theorem|Corollary) / {
    name = $2; sub(/[^A-Za-z0-9_'].*$/, "", name)
    if (last_line != FNR - 1 || last !~ /^\[[^\]]+\] /) {
        printf "%s:%d: theorem %s has no comment of the form (** [tag] words *) above it\n", FILENAME, FNR, name > "/dev/stderr"
        failed = 1; next
    }
    if (name in seen) {
        printf "%s:%d: the name %s stands in two files\n", FILENAME, FNR, name > "/dev/stderr"; failed = 1; next
    }
    seen[name] = 1
    close_at = index(last, "]")
    printf "%s\t%s\t%s\t%s\n", module, name, substr(last, 2, close_at - 2), substr(last, close_at + 2)
}
END { exit failed }
