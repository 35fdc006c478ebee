#!/usr/bin/env bash
# Counts lines of Rust: of each crate of the tool, and of each reference. Blank lines, comments and tests don't count: a line counts if
# something other than a comment is on it, and counting ends where a file's `mod tests {` begins.
# Of the working tree it also counts the crates, ours and others', that each of the tool's programs is compiled from.
# Usage: tests/lines.sh [COMMIT]: of the working tree, or of a commit, so that before and after are counted in one way.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:-}

list() {
    if [ -n "$commit" ]; then git ls-tree -r --name-only "$commit" -- "$1"; else git ls-files --cached --others --exclude-standard -- "$1"; fi
}

show() { if [ -n "$commit" ]; then git show "$commit:$1"; elif [ -e "$1" ]; then cat "$1"; fi; }

# The lines of one folder's src. lines FOLDER
lines() {
    list "$1/src" | sed -n '/\/tests\.rs$/d; /\.rs$/p' | while read -r file; do
        show "$file" | awk '
            { line = $0; gsub(/^[ \t]+|[ \t]+$/, "", line) }
            line == "#[cfg(test)]" { test = 1; next }
            test && line ~ /^(pub )?mod .*\{$/ { exit }
            test { test = 0; if (line ~ /^mod .*;$/) next }
            line != "" && line !~ /^\/\// { print }'
    done | wc -l
}

# What a check is compiled from, as CONTRIBUTING.md has it, where a test keeps it true.
core=$(show CONTRIBUTING.md | sed -n 's|^core  \([a-z]*\).*|tests/\1|p')

total=0
of_the_core=0
row() {
    local count mark=''
    count=$(lines "$1")
    total=$((total + count))
    if grep -qxF "$1" <<<"$core"; then
        mark='  (core)'
        of_the_core=$((of_the_core + count))
    fi
    [ "$count" -eq 0 ] || printf '%7d  %s%s\n' "$count" "$1" "$mark"
}

for crate in $(list tests | sed -n 's|^\(tests/[a-z-]*\)/Cargo.toml$|\1|p' | sort -u); do row "$crate"; done
printf '%7d  the tool, with the smallest service\n' "$total"
printf '%7d  the core of it\n\n' "$of_the_core"
if [ -z "$commit" ]; then
    for program in workshop workshop-lab workshop-book workshop-author; do
        crates=$(cargo tree --offline --quiet --package "$program" --edges normal,build --prefix none | sed 's/ (.*//' | sort -u | wc -l)
        printf '%7d  crates that %s is compiled from\n' "$crates" "$program"
    done
    echo
fi
for folder in $(list solutions | sed -n 's|^\(solutions/[^/]*\)/Cargo.toml$|\1|p' | sort -u) tests/peers/axum tests/peers/rocket-reports; do
    row "$folder"
done
