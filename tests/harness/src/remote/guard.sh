# Runs a program on a machine for somebody elsewhere, and ends it when they go; host.rs runs it there:
#   sh -c … guard PID_FILE DIRECTORY PROGRAM ARGUMENT…
# The program's variables come on standard input, a line each, up to an empty line. When the input ends, the program is asked to
# end, and is killed if it doesn't. Its exit code is the guard's.
pid_file=$1 directory=$2
shift 2
while IFS= read -r line && [ -n "$line" ]; do
    export "${line?}"
done
cd "$directory" || exit
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
echo "$program" >"$pid_file.new" && mv "$pid_file.new" "$pid_file"
{
    while read -r _; do :; done
    kill "$program"
    left=60
    while [ "$left" -gt 0 ]; do
        sleep 0.2
        kill -0 "$program" || exit
        left=$((left - 1))
    done
    kill -s KILL "$program"
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$program"
status=$?
rm -f "$pid_file"
kill "$watcher" 2>/dev/null
exit "$status"
