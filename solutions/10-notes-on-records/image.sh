#!/bin/sh
# Puts the files of the image into a folder: sh image.sh FOLDER. The Dockerfile runs this script in its first stage. If that
# stage's base image can't be pulled from a registry, `just image` runs the script on this machine.
set -eu

crate=$(cd "$(dirname "$0")" && pwd)
host=$(rustc --version --verbose | sed -n 's/^host: //p')

# Links the C library statically, so that the image needs nothing else. With --target, RUSTFLAGS doesn't apply to the code
# that cargo runs during the build: procedural macros and build scripts.
RUSTFLAGS="-C target-feature=+crt-static" cargo install --locked --no-track --path "$crate" --target "$host" \
    --config "$crate/profile.toml" --features "${FEATURES:-}" --root "$1"
mv "$1"/bin/* "$1/service"
rmdir "$1/bin"
