#!/bin/sh
# Puts the files of the image into a folder: sh image.sh FOLDER. The Dockerfile runs this in its first stage, and where there
# is no registry to get that stage from, `just image` runs it on this machine.
set -eu

crate=$(cd "$(dirname "$0")" && pwd)
host=$(rustc --version --verbose | sed -n 's/^host: //p')

# The C library is linked into the program, so that the image needs nothing else. With --target, this doesn't apply to what
# cargo builds to run here and now: macros and build scripts.
RUSTFLAGS="-C target-feature=+crt-static" cargo install --locked --no-track --path "$crate" --target "$host" \
    --config "$crate/profile.toml" --features "${FEATURES:-}" --root "$1"
mv "$1"/bin/* "$1/service"
rmdir "$1/bin"
