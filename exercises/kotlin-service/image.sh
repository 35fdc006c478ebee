#!/bin/sh
# Puts the files of the image into a folder: sh image.sh FOLDER. The Dockerfile runs this in its first stage, and where there
# is no registry to get that stage from, `just image` runs it on this machine.
set -eu

cd "$(dirname "$0")"
mvn --batch-mode --quiet -DskipTests package
cp target/kotlin-service.jar "$1/service.jar"

# A Java runtime with the modules that the service and its libraries use, and no others.
"$JAVA_HOME/bin/jlink" --output "$1/runtime" --strip-debug --no-header-files --no-man-pages \
    --add-modules java.base,java.logging,java.management,java.naming,java.net.http,java.security.jgss,java.sql,jdk.unsupported

# The libraries of the system that this runtime is linked with, the C library among them.
find "$1/runtime" -name 'java' -type f -o -name '*.so' | xargs ldd | awk '$2 == "=>" { print $3 } $1 ~ /^\// && NF == 2 { print $1 }' |
    grep '^/' | grep -v "^$1" | sort -u | xargs cp --dereference --parents --target-directory "$1"
# The runtime writes files for tools there.
mkdir -m 1777 "$1/tmp"
