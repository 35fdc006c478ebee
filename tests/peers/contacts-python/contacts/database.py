"""The way to PostgreSQL: a pool of connections, time limits on them, and the schema."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

from .settings import Settings

_log = logging.getLogger("uvicorn.error")

# From "Appendix A. PostgreSQL Error Codes": only for reading, out of memory, too many connections, closed to connections,
# query took too long, no table yet; connection lost, rolled back, login refused, no such database, stopping.
_OUTAGE = re.compile("25006|53200|53300|55000|57014|42P01|08|28|3D|40|57P")
_PAUSE = 0.5

# The tables of the service in Kotlin. Each statement changes nothing where it has run before.
_SCRIPT = Path(__file__).parents[2] / "contacts-kotlin/src/main/resources/migrations/0001_create_the_address_books.sql"
# Read at the start: a missing file is not taken for a database that is away, which is tried again and again.
_SCHEMA = _SCRIPT.read_text()
# Of two services that start at the same time, one waits for the other.
_LOCK = "SELECT pg_advisory_xact_lock(7263016)"


class DatabaseUnavailable(Exception):
    """The database is away, had no connection free in time, or took too long."""


class Database:
    """A pool of connections. No use of it takes much longer than the time limit."""

    _pool: asyncpg.Pool
    _migrating: asyncio.Task[None]

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.is_up_to_date = False

    async def open(self) -> None:
        """Connects to nothing yet: each connection is opened when a request first needs it."""
        self._pool = await asyncpg.create_pool(
            self._settings.database_url,
            min_size=0,
            max_size=self._settings.pool_size,
            max_inactive_connection_lifetime=0,
            # The database gives up when we do. Otherwise it would go on with queries whose client has gone.
            server_settings={"statement_timeout": str(round(self._settings.database_timeout * 1_000))},
            # By itself asyncpg asks for a reset after each use: a round trip for state that nothing here leaves behind.
            reset=_left_as_it_is,
        )
        self._migrating = asyncio.create_task(self._migrate())

    async def close(self) -> None:
        self._migrating.cancel()
        with suppress(asyncio.CancelledError):
            await self._migrating
        self._pool.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection for some statements, with a time limit for all of them."""
        limit = self._settings.database_timeout
        try:
            async with self._pool.acquire(timeout=limit) as connection:
                try:
                    async with asyncio.timeout(limit):
                        yield connection
                except (TimeoutError, asyncio.CancelledError, OSError):
                    # The answer may still come. The next request must not take it for its own.
                    connection.terminate()
                    raise
        except asyncpg.PostgresError as error:
            if _OUTAGE.match(error.sqlstate or "08"):
                raise DatabaseUnavailable(str(error)) from error
            raise
        # The last one is what asyncpg raises on a connection that the database has ended under a query.
        except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            raise DatabaseUnavailable(str(error)) from error

    async def _migrate(self) -> None:
        """Makes the tables, and tries again until it has worked. On a connection that the requests do not share."""
        while not self.is_up_to_date:
            try:
                async with asyncio.timeout(self._settings.migration_timeout):
                    connection = await asyncpg.connect(self._settings.database_url)
                    try:
                        async with connection.transaction():
                            await connection.execute(_LOCK)
                            await connection.execute(_SCHEMA)
                    finally:
                        await connection.close()
                self.is_up_to_date = True
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                _log.warning("the migrations have not run, trying again: %s", error)
                await asyncio.sleep(_PAUSE)


async def _left_as_it_is(_connection: asyncpg.Connection) -> None:
    pass
