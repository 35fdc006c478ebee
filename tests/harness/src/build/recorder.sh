#!/bin/sh
# Stands between cargo and the compiler. For the package $WORKSHOP_RECORD it writes down how cargo calls the compiler, one file per
# crate in $WORKSHOP_RECORD_TO, and calls nothing: cargo gives up then. All else is compiled.
case "${CARGO_PKG_NAME:-} $*" in
    "$WORKSHOP_RECORD "*--crate-name*)
        name=''
        last=''
        for word; do
            [ "$last" != --crate-name ] || name=$word
            last=$word
        done
        {
            # A compiler of the distribution builds for WebAssembly with options that only RUSTC_BOOTSTRAP opens.
            env | sed -n -e 's/^CARGO_/env &/p' -e 's/^RUSTC_BOOTSTRAP=/env &/p'
            for word; do printf 'arg %s\n' "$word"; done
        } >"$WORKSHOP_RECORD_TO/$name"
        exit 1
        ;;
esac
exec "$@"
