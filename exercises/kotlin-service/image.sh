#!/bin/sh
# Puts the files of the image into a folder: sh image.sh FOLDER. The Dockerfile runs this script in its first stage. If that
# stage's base image can't be pulled from a registry, `just image` runs the script on this machine.
set -eu

cd "$(dirname "$0")"
mvn --batch-mode --quiet -DskipTests package
cp target/kotlin-service.jar "$1/service.jar"

# A Java runtime with only the modules that the service and its libraries use.
"$JAVA_HOME/bin/jlink" --output "$1/runtime" --strip-debug --no-header-files --no-man-pages \
    --add-modules java.base,java.logging,java.management,java.naming,java.net.http,java.security.jgss,java.sql,jdk.unsupported

# The shared libraries that the runtime is linked against, including the C library.
find "$1/runtime" -name 'java' -type f -o -name '*.so' | xargs ldd | awk '$2 == "=>" { print $3 } $1 ~ /^\// && NF == 2 { print $1 }' |
    grep '^/' | grep -v "^$1" | sort -u | xargs cp --dereference --parents --target-directory "$1"
# The JVM writes files for diagnostic tools to /tmp.
mkdir -m 1777 "$1/tmp"
