"""The settings of the service, read from environment variables once, at the start."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from serving.settings import InvalidSettings, database_url, log_level, number

_NAME = re.compile("[a-z0-9-]{1,32}")


@dataclass(frozen=True)
class Settings:
    """What the service is told from outside."""

    address: str
    port: int
    pool_size: int
    database_timeout: float
    migration_timeout: float
    log_level: str
    users: dict[str, str] = field(repr=False)
    database_url: str = field(repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        return cls(
            address=environment.get("ADDRESS", "127.0.0.1"),
            port=number(environment, "PORT", 8080, range(65_536)),
            pool_size=number(environment, "DATABASE_POOL_SIZE", 10, range(1, 1_001)),
            database_timeout=number(environment, "DATABASE_TIMEOUT_MS", 1_000, range(250, 3_600_001)) / 1_000,
            migration_timeout=number(environment, "MIGRATION_TIMEOUT_MS", 600_000, range(250, 3_600_001)) / 1_000,
            log_level=log_level(environment),
            users=_users(environment),
            database_url=database_url(environment),
        )


def _users(environment: Mapping[str, str]) -> dict[str, str]:
    """Passwords by name. A password may hold everything but a comma."""
    entries = [entry.partition(":") for entry in environment.get("CONTACTS_USERS", "").split(",")]
    users = {name: password for name, _, password in entries if _NAME.fullmatch(name) and password}
    if len(users) < len(entries):
        # The sentence does not repeat what is read here: it is secret.
        raise InvalidSettings("CONTACTS_USERS must be name:password,name:password (names of a-z, 0-9 and hyphens, each once).")
    return users
