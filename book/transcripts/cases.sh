#!/bin/sh
# Captures what ps, gdb, psql, perf and curl say of the debugging cases, for readers who don't have them. Nothing in these files is typed.
# Run it from the checkout's root, on Linux, when a case has changed: sh book/transcripts/cases.sh hang
set -u

root=$(pwd)
out="$root/book/transcripts"
tool="${CARGO_TARGET_DIR:-$root/target}/debug/workshop"
work=$(mktemp -d)
running=
trap '[ -z "$running" ] || kill -INT "$running"; rm -rf "$work"' EXIT
export NO_COLOR=1

# What differs from run to run and from machine to machine is shortened: addresses, hashes, folders of libraries.
tidy() {
    sed -E 's/0x[0-9a-f]+ in //; s/::h[0-9a-f]{16}//g; s#(/[^ ]*)?/(registry/src/[^/]*|rustc/[0-9a-f]+)/#…/#g; s/ \(Thread 0x[0-9a-f]+ \(/ (/
        s/"\):$/")/; s/alloc::(boxed|alloc):://g; s/core::pin:://g; s/[[:space:]]+$//' | cut -c1-130 | sed 's/[[:space:]]*$//'
}

# Plays a case, and leaves its service in $pid, $url and $address.
play() {
    "$tool" hunt "$1" >/dev/null
    "$tool" run hunt >"$work/run" 2>&1 &
    running=$!
    until grep -q 'Ctrl-C ends it' "$work/run"; do
        kill -0 "$running" || exit 1
        sleep 1
    done
    pid=$(sed -n 's/^its process: //p' "$work/run")
    url=$(sed -n 's/^its database: //p' "$work/run")
    address=$(sed -n 's/^its address: //p' "$work/run")
}

end() {
    kill -INT "$running"
    wait "$running"
    running=
}

case "$1" in
hang)
    play hang
    ps -L -o tid,comm,pcpu,wchan:20 -p "$pid" >"$out/hang-threads.txt"
    gdb --batch -p "$pid" -ex 'thread apply all bt' 2>/dev/null |
        grep -E '^Thread| at src/|mutex|block_on<|epoll' | tidy >"$out/hang-gdb.txt"
    psql "$url" -c "SELECT pid, state, wait_event_type, wait_event, left(query, 44) AS query FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()" | sed 's/[[:space:]]*$//' >"$out/hang-sessions.txt"
    end
    ;;
leak)
    play leak
    watching() { echo "\$ curl … ADDRESS/live/watching"; curl -s -H 'X-API-Key: valid_key' "$address/live/watching"; echo; }
    visit() { curl -s -X POST -H 'X-API-Key: valid_key' "$address/records/1/visit"; }
    {
        watching
        for _ in 1 2 3; do visit >/dev/null; done
        echo "$ curl -X POST … ADDRESS/records/1/visit, three times"
        watching
    } >"$out/leak-watching.txt"
    (while visit >/dev/null; do :; done) &
    visiting=$!
    perf record -q -o "$work/perf" -p "$pid" -- sleep 5 2>/dev/null
    kill "$visiting"
    perf report -i "$work/perf" --stdio --sort symbol --percent-limit 0.3 2>/dev/null |
        grep -E '^ +[0-9].*\[\.\]' | tidy | head -15 >"$out/leak-perf.txt"
    end
    ;;
wrong)
    play wrong
    {
        sed -n 's/^    \([0-9a-f ]*\)$/\1/p' "$work/run"
        echo
        psql "$url" -c 'SELECT id, to_hex(id) FROM records WHERE visited ORDER BY id' | sed 's/[[:space:]]*$//'
    } >"$out/wrong-marked.txt"
    psql "$url" -c "EXPLAIN UPDATE records SET visited = true WHERE id = ANY('{257,258}') AND NOT visited" |
        sed 's/[[:space:]]*$//' >"$out/wrong-explain.txt"
    strace -f -e trace=recvfrom,read -o "$work/strace" -p "$pid" 2>/dev/null &
    tracing=$!
    sleep 1
    (printf '\0\0\1\1'; sleep 1; printf '\0\0\1\2') | curl -sT - -X POST -H 'X-API-Key: valid_key' "$address/scans" >/dev/null
    kill -INT "$tracing"
    grep -vE 'EAGAIN|resumed|unfinished|"\\1\\0' "$work/strace" | sed -E 's/^[0-9]+ +//' | cut -c1-130 | head -14 >"$out/wrong-strace.txt"
    end
    ;;
*)
    echo "cases.sh: which case? hang, leak, wrong" >&2
    exit 2
    ;;
esac
