# What stays on a machine for as long as somebody elsewhere measures on it; connection.rs runs it there:
#   sh -c … session SILENCE
# Makes a folder, says where that is and what machine this is, and waits. They send a line every few seconds; when the lines end,
# or stay away for SILENCE seconds, every process is stopped whose id is in the folder, and the folder goes.
umask 077
silence=$1
begin=/var/tmp/kotlin-to-rust-workshop

# What a session has left that was cut off together with its machine.
for old in "$begin".*; do
    owner=${old#"$begin".}
    kill -0 "${owner%.*}" || rm -rf "$old"
done 2>/dev/null

folder=$begin.$$.$(date +%s)
mkdir "$folder" || exit
# A server of PostgreSQL that runs as another user has its data in it.
[ "$(id -u)" != 0 ] || chmod 711 "$folder"

stop() { for file in "$folder"/*.pid; do kill -s "$1" "$(cat "$file")"; done; }
running() {
    for file in "$folder"/*.pid; do kill -0 "$(cat "$file")" && return; done
    return 1
}
end() {
    trap '' HUP INT TERM PIPE
    # The second signal is for the database: with the first one it waits until every client has disconnected.
    stop TERM
    stop INT
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        running || break
        sleep 0.2
    done
    stop KILL
    rm -rf "$folder"
    # The server of this one connection does not notice that the line is silent; with it, what it has started loses its input.
    case $(cat /proc/$PPID/comm) in sshd*) kill "$PPID" ;; esac
} 2>/dev/null
trap end EXIT
trap exit HUP INT TERM PIPE

echo "workshop-session $folder $(uname -m) $SSH_CONNECTION"
while timeout "$silence" sh -c 'read -r _'; do :; done
