#!/bin/sh
# `just bench-loop`: how long a learner waits for a check, by hyperfine, compared with limits. The build of the crate after an edit comes on
# top. With --from-nothing: how long the README's two commands take in an empty clone.
set -eu
cd "$(dirname "$0")/.."
status=0
work=$(mktemp -d)

# What a clone has started is its own: a server, a container.
clean_up() {
    for justw in "$work"/*/justw; do
        [ ! -x "$justw" ] || "$justw" clean
    done
    rm -rf "$work"
}
trap clean_up EXIT

# The median of a command in seconds, beside its limit: within LIMIT COMMAND OPTION…
within() {
    limit=$1 command=$2
    shift 2
    if ! hyperfine --style none --export-csv "$work/times.csv" "$@" "$command" >"$work/words" 2>&1; then
        echo "error: $command fails, so its time says nothing; run it by itself" >&2
        exit 2
    fi
    sed -n 2p "$work/times.csv" | awk -F, -v limit="$limit" -v command="$command" '{
        printf "%-4s  %7.2f s, limit %g s: %s\n", $4 <= limit ? "ok" : "FAIL", $4, limit, command
        exit $4 > limit
    }' || status=1
}

if [ "${1:-}" = --from-nothing ]; then
    unset CARGO_TARGET_DIR
    git clone --quiet . "$work/tour"
    git clone --quiet . "$work/test"
    within 480 "$work/tour/justw tour" --runs 1
    within 720 "$work/test/justw test" --runs 1
    within 180 "$work/test/justw test" --runs 1
else
    for reference in solution-3 solution-5 solution-8; do
        within 1.5 "just check $reference --only a_known_id_answers_its_record" --warmup 1 --runs 3
        within 8 "just check $reference" --warmup 1 --runs 3
    done
    within 5 "just book" --warmup 1 --runs 3
fi
[ "$status" = 0 ]
