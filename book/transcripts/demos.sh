#!/bin/sh
# Captures the demos of the instructors' pages: each line that they type, after a $, and what it prints. Nothing is typed here.
# Run it from the checkout's root when one of them has changed: sh book/transcripts/demos.sh
set -u

root=$(pwd)
out="$root/book/transcripts"
work=$(mktemp -d)
started=''
trap 'end; rm -rf "$work"' EXIT
export NO_COLOR=1 CARGO_TERM_COLOR=never CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
./justw --bring just oha
./justw --tool
mkdir -p "$work/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$CARGO_TARGET_DIR/debug/workshop" >"$work/bin/just"
chmod +x "$work/bin/just"
PATH="$work/bin:$root/.workshop/tools/bin:$PATH"

# Paths of this checkout are shortened.
tidy() { sed -E "s#$root/?##g; s#[[:space:]]+\$##"; }

# A line as it is typed, and what it prints. Dates are left out, and so is when a hint's check was.
typed() {
    printf '$ %s\n' "$1"
    sh -c "$1" 2>/dev/null | sed -E '/^(date:|chosen by)/Id'
    echo
}

# Starts a service in the background, and waits until it can be asked: target and options of `just run`. What it prints is in
# $printed, and a line sent to 3 is its Enter.
begin() {
    printed="$work/$1.printed"
    rm -f "$printed" "$work/$1.keys" # of a run before
    mkfifo "$work/$1.keys"
    exec 3<>"$work/$1.keys"
    just run "$@" <"$work/$1.keys" >"$printed" 2>"$printed.log" 3>&- &
    started="$started $!"
    until grep -qs '^Ctrl-C stops it' "$printed"; do
        if ! kill -0 "$!" 2>/dev/null; then
            echo "capture: just run $* has ended: $(tail -n 3 "$printed.log")" >&2
            return 1
        fi
        sleep 0.2
    done
}

# Ends what was begun.
end() {
    for service in $started; do
        kill "$service" 2>/dev/null
        wait "$service"
    done
    started=''
}

# A dozen silences under load, and a request afterwards: what `just run` prints, and what its service answers then.
silences() {
    begin "$1" --silences || return
    request=$(sed -n 's/^try: *//p' "$printed")
    address=$(printf '%s' "$request" | sed "s#.*'\(http://[^/]*\)/.*#\1#")
    oha --no-tui -z 30s -c 16 -H 'X-API-Key: valid_key' --rand-regex-url "$address/read/[1-9][0-9]{3}" >/dev/null 2>&1 &
    load=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        sleep 2
        echo >&3
    done
    wait "$load"
    {
        printf '$ just run %s --silences\n' "$1"
        grep -v '^its log' "$printed"
        echo
        typed "$request"
    } | tidy
    end
}

if begin kotlin --port 8081 && begin solution-3 --port 8082; then
    {
        typed "curl -si 'http://127.0.0.1:8081/read/1?api_key=valid_key'"
        typed "curl -si 'http://127.0.0.1:8082/read/1?api_key=valid_key'"
    } | tidy >"$out/demo-before-you-port.txt"
fi
end
just check exercise-3 >/dev/null 2>&1
{
    typed "just hint exercise-3 --level 1"
    typed "just hint exercise-3 --level 2"
} | tidy >"$out/demo-the-port.txt"
if begin solution-20; then
    nginx=$(sed -n 's/^nginx: *\(http[^,]*\),.*/\1/p' "$printed")
    folder=$(sed -n 's/^switch:.* \([^ ]*\) [^ ]*$/\1/p' "$printed")
    for stage in '' all off; do
        if [ -n "$stage" ]; then
            typed "sh solutions/20-route-by-route/nginx/switch.sh $folder $stage"
            sleep 1 # until the old workers have gone
        fi
        typed "curl -si '$nginx/qrcode?text=hello' | grep -a X-Served-By"
    done | sed "s#$folder#FOLDER#" | tidy >"$out/demo-one-function-at-a-time.txt"
fi
end
{
    silences solution-8
    silences solution-11
} >"$out/demo-under-load.txt"
# What Rocket answers to a method that it does not know, and what comes through nginx: the answers, and the two logs.
if LOG_LEVEL=info begin solution-11 --port 8081; then
    typed "curl -si -X PROPFIND http://127.0.0.1:8081/read/1" | tidy >"$out/propfind.txt"
    mkdir "$work/nginx"
    nginx -p "$work/nginx" -c "$root/tests/book/examples/methods/nginx.conf" -g 'daemon off;' 2>/dev/null &
    started="$started $!"
    sleep 1
    {
        typed "curl -si -X PROPFIND http://127.0.0.1:8082/read/1"
        typed "tail -n 1 $work/nginx/access.log" | sed "s#$work/nginx/##"
    } | tidy >"$out/methods.txt"
fi
end
if begin solution-22 --port 8081; then
    cd "$work" || exit
    book=http://ada:secret@127.0.0.1:8081/addressbooks/ada/contacts
    export book
    put="curl -si -X PUT --data-binary @hut.vcf -H 'Content-Type: text/vcard'"
    {
        printf '$ book=%s\n\n' "$book"
        typed "printf 'BEGIN:VCARD\\nVERSION:4.0\\nUID:hut-7\\nFN:Hut 7\\nEND:VCARD\\n' >hut.vcf"
        typed "$put \$book/hut.vcf"
        typed "$put -H 'If-Match: \"an-older-one\"' \$book/hut.vcf"
        typed "curl -s -X REPORT -H 'Content-Type: application/xml' \$book/ -d '<sync-collection xmlns=\"DAV:\"><sync-token/><sync-level>1</sync-level><prop/></sync-collection>' | awk '{gsub(/></, \">\\n<\")} 1'"
    } | tidy >"$out/contacts.txt"
    cd "$root" || exit
fi
end
typed "cargo test -p solution-8" | tidy >"$out/demo-after-the-course.txt"
