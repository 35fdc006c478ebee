#!/bin/sh
# Entry point of a local PostgreSQL image: understands POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB,
# POSTGRES_INITDB_ARGS and PGDATA as the official image does.
set -eu
umask 077
: "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo "POSTGRES_PASSWORD is not set: docker run -e POSTGRES_PASSWORD=..." >&2
    exit 1
  fi
  rm -rf "$PGDATA" "$PGDATA.new" "$PGDATA.password"
  echo "$POSTGRES_PASSWORD" >"$PGDATA.password"
  # shellcheck disable=SC2086
  initdb --username "$POSTGRES_USER" --pwfile "$PGDATA.password" --auth scram-sha-256 --pgdata "$PGDATA.new" \
    ${POSTGRES_INITDB_ARGS:-}
  rm -f "$PGDATA.password"
  echo "host all all all scram-sha-256" >>"$PGDATA.new/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA.new/postgresql.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA.new" postgres
  fi
  mv "$PGDATA.new" "$PGDATA"
fi
unset POSTGRES_PASSWORD
case "${1:-postgres}" in
  postgres) [ $# -eq 0 ] || shift ;;
  -*) ;;
  *) exec "$@" ;;
esac
exec postgres -D "$PGDATA" "$@"
