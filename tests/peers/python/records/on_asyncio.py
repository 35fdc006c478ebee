"""Records by asyncpg: one thread waits for all connections."""

import asyncio
from typing import Any

import asyncpg

from .database import COLUMNS, DatabaseUnavailable, QueryFailed, Record, is_outage
from .settings import Settings


class AsyncioRecords:
    """A pool of connections. A question is one round trip, since asyncpg keeps statements prepared."""

    _pool: asyncpg.Pool

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def open(self) -> None:
        """Connects to nothing yet: each connection is opened when a request first needs it."""
        limit = self._settings.database_timeout
        self._pool = await asyncpg.create_pool(
            self._settings.database_url,
            min_size=0,
            max_size=self._settings.connections,
            max_inactive_connection_lifetime=0,
            # The database gives up when we do. Otherwise it would go on with queries whose client has gone.
            server_settings={"statement_timeout": str(round(limit * 1_000))},
            # By itself asyncpg asks for a reset after each use: a round trip for state that nothing here leaves behind.
            reset=_left_as_it_is,
        )

    async def ping(self) -> None:
        await self._row("SELECT 1")

    async def find(self, record_id: int) -> Record | None:
        return await self._row(f"SELECT {COLUMNS} FROM records WHERE id = $1", record_id)

    async def close(self) -> None:
        self._pool.terminate()

    async def _row(self, query: str, *arguments: Any) -> Record | None:
        limit = self._settings.database_timeout
        try:
            async with self._pool.acquire(timeout=limit) as connection:
                try:
                    async with asyncio.timeout(limit):
                        return await connection.fetchrow(query, *arguments)
                except asyncpg.PostgresError:
                    raise
                except BaseException:
                    # The answer may still come. The next request must not take it for its own.
                    connection.terminate()
                    raise
        except asyncpg.PostgresError as error:
            raise (DatabaseUnavailable if is_outage(error.sqlstate) else QueryFailed)(str(error)) from error
        # The last one is what asyncpg raises on a connection that the database has ended under a query.
        except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            raise DatabaseUnavailable(str(error)) from error


async def _left_as_it_is(_connection: asyncpg.Connection) -> None:
    pass
