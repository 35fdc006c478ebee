#!/bin/sh
# Switches a running nginx to another stage: sh switch.sh FOLDER STAGE. `just run exercise-20` names the folder.
set -eu
files=$(dirname "$0")
folder=$1
stage=$2
PATH="$PATH:/usr/sbin:/usr/local/sbin" # packages put nginx there, which isn't on every user's PATH

cp "$files/shares.conf" "$folder/shares.conf"
cp "$files/stages/$stage.conf" "$folder/stage.conf"
# Tested first: an invalid configuration never replaces the running one.
nginx -p "$folder" -c nginx.conf -e error.log -t
nginx -p "$folder" -c nginx.conf -e error.log -s reload
