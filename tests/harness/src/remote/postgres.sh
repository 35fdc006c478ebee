# Makes a PostgreSQL cluster on a machine, in FOLDER/data; database.rs runs it there:
#   sh -c … postgres FOLDER USER
# The user's password is the first line of standard input, and the rest goes into postgresql.conf. Says how the server is started.
folder=$1 user=$2
export LC_ALL=C
umask 077
bin=
for candidate in "$(dirname "$(command -v initdb || echo none/initdb)")" "$(pg_config --bindir)" /usr/lib/postgresql/*/bin; do
    [ ! -x "$candidate/initdb" ] || [ ! -x "$candidate/postgres" ] || bin=$candidate
done 2>/dev/null
if [ -z "$bin" ]; then
    echo "there is no initdb with a postgres beside it: neither on the PATH nor below /usr/lib/postgresql" >&2
    exit 3
fi
mkdir "$folder/data"
IFS= read -r password
printf '%s\n' "$password" >"$folder/password"
# PostgreSQL refuses root.
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
    chown postgres "$folder/data" "$folder/password" || exit
fi
cd "$folder" || exit
# shellcheck disable=SC2086
$as "$bin/initdb" --encoding=UTF8 --locale=C --auth=scram-sha-256 --username="$user" --pwfile="$folder/password" \
    --pgdata="$folder/data" >"$folder/initdb" 2>&1 </dev/null || { cat "$folder/initdb" >&2; exit 4; }
rm "$folder/password"
{
    echo
    cat
    [ ! -e "$bin/../lib/pg_stat_statements.so" ] || echo "shared_preload_libraries = 'pg_stat_statements'"
} >>"$folder/data/postgresql.conf"
echo "workshop-postgres $as $bin/postgres -D $folder/data"
