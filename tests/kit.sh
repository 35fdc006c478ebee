#!/bin/sh
# Unpacks the offline kit that `just kit DIR` has made: a part of `justw`, which reads this file for `--kit DIR`. No network is needed,
# and nothing is compiled.

# Unpacks a kit below .workshop, once it is known to be whole and made for this checkout and this platform: unpack DIR
unpack() {
    # As seen from where the wrapper was called.
    from=$(cd "$called_from" && cd "$1" 2>/dev/null && pwd) || from=$1
    [ -f "$from/kit.txt" ] || trouble "$from holds no offline kit, or one that was not finished: there is no kit.txt in it" \
        "./justw --kit DIR, with the folder that just kit DIR has filled on a machine with a network" \
        "ls $from; if the kit was being made, run just kit again"
    say "the kit of $(head -n 1 "$from/kit.txt")"
    damaged=$(sed 1d "$from/kit.txt" | while read -r sum size name; do
        [ "$(cd "$from" && cksum "$name" 2>/dev/null)" = "$sum $size $name" ] || printf ' %s' "$name"
    done)
    [ -z "$damaged" ] || trouble "missing in the kit, or damaged:$damaged" "every file that kit.txt lists, whole" \
        "copy the kit once more, or make it again where there is a network: just kit $from"
    cat Cargo.lock tests/tools.toml exercises/kotlin-service/pom.xml solutions/*/pom.xml | cmp -s - "$from/inputs.txt" ||
        trouble "the kit was made for another state of the course; this is $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')" \
            "the same Cargo.lock, pom.xml files and tests/tools.toml" \
            "git clone $from/course.bundle, which is the course of this kit; or git status, if you changed one of them"
    platform="platform-$(uname -s)-$(uname -m).tar"
    [ -f "$from/$platform" ] || trouble "the kit has no tools for this platform: there is no $platform in it" \
        "one of $(cd "$from" && echo platform-*)" "just kit $from on such a machine with a network adds them"
    [ ! -f .cargo/config.toml ] || grep -q "offline kit" .cargo/config.toml ||
        trouble "there is a .cargo/config.toml of your own, which the kit would replace" "no such file" \
            "move it away, run ./justw --kit $from again, and add your settings to the new one"

    rm -rf .workshop/kit.new
    mkdir -p .workshop/kit.new .cargo "$tools/bin"
    gzip -dc "$from/crates.tar.gz" | tar -xf - -C .workshop/kit.new
    for part in maven.tar book.tar "$platform"; do tar -xf "$from/$part" -C .workshop/kit.new; done
    rm -rf .workshop/kit
    mv .workshop/kit.new .workshop/kit
    cp -f .workshop/kit/bin/* "$tools/bin"
    # A distribution's compiler for WebAssembly builds the standard library itself. Its crates come with that compiler.
    for crate in /usr/lib/rustlib/src/rust/library/vendor/*; do
        [ ! -d "$crate" ] || [ -e ".workshop/kit/crates/${crate##*/}" ] || ln -s "$crate" .workshop/kit/crates/
    done
    cat >.cargo/config.toml <<END
# Crates come from the offline kit that ./justw --kit has unpacked; without this file cargo asks the network again.
[source.crates-io]
replace-with = "kit"
[source.kit]
directory = ".workshop/kit/crates"
[net]
offline = true
END
    for tool in just mdbook oha hyperfine; do
        is_here "$tool" "$(pinned "$tool")" || say "note: the kit's $tool does not run here; ./justw --bring $tool needs a network"
    done
    if [ -f "$from/postgres-image.tar" ] && command -v docker >/dev/null; then
        docker load --quiet --input "$from/postgres-image.tar" >&2 || say "note: the image of PostgreSQL could not be loaded; the course works without"
    fi
    say "unpacked; the book is .workshop/kit/book/index.html. rm -r .cargo .workshop/kit goes back to the network"
}
