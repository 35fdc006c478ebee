"""Records by psycopg: each thread has a connection of its own and waits for it."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row

from .database import COLUMNS, DatabaseUnavailable, QueryFailed, Record, is_outage
from .settings import Settings

T = TypeVar("T")


class _Connection(threading.local):
    """The connection of the thread that asks."""

    open: psycopg.Connection[Record] | None = None


class ThreadRecords:
    """As many threads as connections, so no thread waits for another one's."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.connections, thread_name_prefix="psycopg")
        self._connection = _Connection()

    async def open(self) -> None:
        """Connects to nothing: a thread does when a request first needs it."""

    async def ping(self) -> None:
        await self._on_a_thread(lambda connection: connection.execute("SELECT 1"))

    async def find(self, record_id: int) -> Record | None:
        # Prepared at once: what is asked here is asked again and again.
        query = f"SELECT {COLUMNS} FROM records WHERE id = %s"
        return await self._on_a_thread(
            lambda connection: connection.execute(query, (record_id,), prepare=True).fetchone()
        )

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _on_a_thread(self, work: Callable[[psycopg.Connection[Record]], T]) -> T:
        """Waits so long for a thread, and as long again for its answer."""
        in_use: list[psycopg.Connection[Any]] = []

        def run() -> T:
            connection = self._connected()
            in_use.append(connection)
            return work(connection)

        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(2 * self._settings.database_timeout):
                return await loop.run_in_executor(self._threads, run)
        except TimeoutError as error:
            for connection in in_use:
                _hang_up(connection)
            raise DatabaseUnavailable("no answer in time") from error
        except psycopg.Error as error:
            raise (DatabaseUnavailable if is_outage(error.sqlstate) else QueryFailed)(str(error)) from error

    def _connected(self) -> psycopg.Connection[Record]:
        """The thread's connection; a new one where that is broken."""
        connection = self._connection.open
        if connection is None or connection.closed:
            limit = round(self._settings.database_timeout * 1_000)
            connection = psycopg.connect(
                self._settings.database_url,
                autocommit=True,
                row_factory=dict_row,
                # The database gives up when we do. Otherwise it would go on with queries whose client has gone.
                options=f"-c statement_timeout={limit}",
            )
            self._connection.open = connection
        return connection


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    """Ends a connection that another thread waits for: that thread wakes up with an error."""
    try:
        descriptor = os.dup(connection.fileno())
    except (OSError, psycopg.Error):
        return  # it has ended meanwhile
    with socket.socket(fileno=descriptor) as line:
        try:
            line.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the same
