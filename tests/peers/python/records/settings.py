"""The settings of the service, read from environment variables once, at the start."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


class InvalidSettings(Exception):
    """A variable that stops the start, as one sentence for the person who set it."""


@dataclass(frozen=True)
class Settings:
    """What the service is told from outside."""

    address: str
    port: int
    processes: int
    repository: str
    pool_size: int
    database_timeout: float
    log_level: str
    api_keys: list[str] = field(repr=False)
    database_url: str = field(repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        pool_size = _number(environment, "DATABASE_POOL_SIZE", 10, range(1, 1_001))
        return cls(
            address=environment.get("ADDRESS", "127.0.0.1"),
            port=_number(environment, "PORT", 8080, range(65_536)),
            processes=_processes(environment, pool_size),
            repository=_repository(environment),
            pool_size=pool_size,
            database_timeout=_number(environment, "DATABASE_TIMEOUT_MS", 1_000, range(250, 60_001)) / 1_000,
            log_level=_log_level(environment),
            api_keys=_api_keys(environment),
            database_url=_database_url(environment),
        )

    @property
    def connections(self) -> int:
        """How many connections this process may have: all processes together have as many as one would."""
        return max(1, self.pool_size // self.processes)


def _number(environment: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    text = environment.get(name)
    if text is None:
        return default
    if not text.isdecimal() or int(text) not in allowed:
        least, most = allowed[0], allowed[-1]
        raise InvalidSettings(f'{name} must be a whole number from {least} to {most}, but is "{text}".')
    return int(text)


def _processes(environment: Mapping[str, str], pool_size: int) -> int:
    """How many processes share the port: `cores` is one for each core. Each needs a connection."""
    if environment.get("PROCESSES") == "cores":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, pool_size)
    return _number(environment, "PROCESSES", 1, range(1, 1_001))


def _repository(environment: Mapping[str, str]) -> str:
    repository = environment.get("RECORD_REPOSITORY", "asyncio")
    if repository not in ("asyncio", "threads"):
        raise InvalidSettings(f'RECORD_REPOSITORY must be asyncio or threads, but is "{repository}".')
    return repository


def _log_level(environment: Mapping[str, str]) -> str:
    level = environment.get("LOG_LEVEL", "warn").lower()
    return {"warn": "warning"}.get(level, level)


def _api_keys(environment: Mapping[str, str]) -> list[str]:
    keys = [key.strip() for key in environment.get("API_KEYS", "").split(",")]
    if "" in keys:
        # The sentence does not repeat what is read here: it is secret.
        raise InvalidSettings("API_KEYS must be the keys to accept, separated by single commas.")
    return keys


def _database_url(environment: Mapping[str, str]) -> str:
    url = environment.get("DATABASE_URL", "")
    if not url.startswith(("postgres://", "postgresql://")):
        raise InvalidSettings("DATABASE_URL must be of the shape postgres://user:password@host:port/database.")
    return url
