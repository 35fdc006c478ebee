#!/bin/sh
# Takes a running nginx to another stage: sh switch.sh FOLDER STAGE. `just run exercise-20` names the folder.
set -eu
files=$(dirname "$0")
folder=$1
stage=$2
PATH="$PATH:/usr/sbin:/usr/local/sbin" # where packages put nginx, and not every user looks

cp "$files/shares.conf" "$folder/shares.conf"
cp "$files/stages/$stage.conf" "$folder/stage.conf"
# Looked at first: what nginx does not understand never replaces what it runs with.
nginx -p "$folder" -c nginx.conf -e error.log -t
nginx -p "$folder" -c nginx.conf -e error.log -s reload
