"""What both ways to PostgreSQL share: the question, and an outage told from a query that is wrong."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

Record = Mapping[str, Any]

COLUMNS = "id, value, odd, divisible_by_3, visited"

# From "Appendix A. PostgreSQL Error Codes": only for reading, out of memory, too many connections, closed to connections,
# query took too long; connection lost, rolled back, login refused, no such database, stopping.
_OUTAGE = re.compile("25006|53200|53300|55000|57014|08|28|3D|40|57P")


class DatabaseUnavailable(Exception):
    """The database is away, had no connection free in time, or took too long."""


class QueryFailed(Exception):
    """The database rejects the query: the bug is in this service."""


class Records(Protocol):
    """The records, whichever way the database is asked. No call takes much longer than its time limits."""

    async def open(self) -> None: ...

    async def ping(self) -> None: ...

    async def find(self, record_id: int) -> Record | None: ...

    async def close(self) -> None: ...


def is_outage(sqlstate: str | None) -> bool:
    """Whether the database cannot be reached or refuses the login, rather than rejects the query."""
    return sqlstate is None or _OUTAGE.match(sqlstate) is not None
