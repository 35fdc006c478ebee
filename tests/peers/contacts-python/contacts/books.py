"""The contacts in the database: found, and written under a condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import sha256

import asyncpg

from .conditions import Condition
from .database import Database

_FIND = "SELECT name, etag, changed, vcard FROM contacts WHERE owner = $1 AND name = ANY($2) AND vcard IS NOT NULL"

# A change locks the book until the transaction ends, so changes become visible in the order of their numbers.
_NEXT_REVISION = """
INSERT INTO books AS book (owner, revision) VALUES ($1, 1)
ON CONFLICT (owner) DO UPDATE SET revision = book.revision + 1
RETURNING revision
"""

# The condition is a part of the statement that writes. Between a question and a statement, another request could write.
_REPLACE = """
UPDATE contacts SET etag = $4, vcard = $5, revision = $6, changed = now()
WHERE owner = $1 AND name = $2 AND uid = $3 AND vcard IS NOT NULL
AND ($7::text[] IS NULL OR ARRAY[etag, '*'] && $7) AND NOT ARRAY[etag, '*'] && $8::text[]
"""

# There may be the row of one that was deleted.
_CREATE = """
INSERT INTO contacts AS old (owner, name, uid, etag, vcard, revision, changed) VALUES ($1, $2, $3, $4, $5, $6, now())
ON CONFLICT (owner, name) DO UPDATE SET uid = excluded.uid, etag = excluded.etag, vcard = excluded.vcard,
revision = excluded.revision, changed = excluded.changed WHERE old.vcard IS NULL
"""

_THERE = "SELECT etag, uid FROM contacts WHERE owner = $1 AND name = $2 AND vcard IS NOT NULL"

_ONE_ROW = ("UPDATE 1", "INSERT 0 1")


class Put(Enum):
    """What has become of a contact that a client wanted to write."""

    CREATED = auto()
    REPLACED = auto()


class ConditionFailed(Exception):
    """Nothing was changed: what is there does not meet the condition."""


class UidConflict(Exception):
    """Nothing was changed: another contact of the book has the UID, or this one has another UID, which it keeps."""


@dataclass(frozen=True)
class NewContact:
    """A contact that a client wants to write."""

    owner: str
    name: str
    uid: str
    vcard: str

    @property
    def etag(self) -> str:
        """In its quotes: the same text always has the same one, and no other text has it."""
        return f'"{sha256(self.vcard.encode()).hexdigest()[:32]}"'


class Books:
    """The address books of all users."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ping(self) -> None:
        async with self._database.connection() as connection:
            await connection.fetchval("SELECT 1")

    async def named(self, owner: str, names: Sequence[str]) -> list[asyncpg.Record]:
        """Those of these contacts that there are."""
        async with self._database.connection() as connection:
            return await connection.fetch(_FIND, owner, names)

    async def put(self, contact: NewContact, condition: Condition) -> Put:
        """Writes a contact; raises ConditionFailed or UidConflict, and has changed nothing then."""
        try:
            async with self._database.connection() as connection, connection.transaction():
                return await _write(connection, contact, condition)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name == "contacts_uid":
                raise UidConflict from error
            raise

    async def name_of(self, owner: str, uid: str) -> str | None:
        """The name of the contact that has this UID."""
        query = "SELECT name FROM contacts WHERE owner = $1 AND uid = $2 AND vcard IS NOT NULL"
        async with self._database.connection() as connection:
            return await connection.fetchval(query, owner, uid)


async def _write(connection: asyncpg.Connection, contact: NewContact, condition: Condition) -> Put:
    """Replaces the contact that is there, or creates it where none is. An exception undoes it."""
    revision = await connection.fetchval(_NEXT_REVISION, contact.owner)
    values = (contact.owner, contact.name, contact.uid, contact.etag, contact.vcard, revision)
    replaced = await connection.execute(_REPLACE, *values, condition.if_match, condition.if_none_match)
    if replaced in _ONE_ROW:
        return Put.REPLACED
    # What is not there has no tag.
    if condition.if_match is None and await connection.execute(_CREATE, *values) in _ONE_ROW:
        return Put.CREATED
    there = await connection.fetchrow(_THERE, contact.owner, contact.name)
    if there and there["uid"] != contact.uid and condition.allows(there["etag"]):
        raise UidConflict
    raise ConditionFailed
