#!/bin/sh
# Starts PostgreSQL as the official image does, as far as the course uses it.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # What a start left that was interrupted.
    rm -rf "$PGDATA.new"
    echo "$POSTGRES_PASSWORD" >/tmp/password
    # shellcheck disable=SC2086
    initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth scram-sha-256 --pgdata "$PGDATA.new" ${POSTGRES_INITDB_ARGS:-}
    echo "host all all all scram-sha-256" >>"$PGDATA.new/pg_hba.conf"
    echo "listen_addresses = '*'" >>"$PGDATA.new/postgresql.conf"
    rm /tmp/password
    mv "$PGDATA.new" "$PGDATA"
fi
exec "$@"
