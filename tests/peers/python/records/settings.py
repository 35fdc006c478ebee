"""The settings of the service, read from environment variables once, at the start."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from serving.settings import InvalidSettings, database_url, log_level, number


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
        pool_size = number(environment, "DATABASE_POOL_SIZE", 10, range(1, 1_001))
        return cls(
            address=environment.get("ADDRESS", "127.0.0.1"),
            port=number(environment, "PORT", 8080, range(65_536)),
            processes=_processes(environment, pool_size),
            repository=_repository(environment),
            pool_size=pool_size,
            database_timeout=number(environment, "DATABASE_TIMEOUT_MS", 1_000, range(250, 60_001)) / 1_000,
            log_level=log_level(environment),
            api_keys=_api_keys(environment),
            database_url=database_url(environment),
        )

    @property
    def connections(self) -> int:
        """How many connections this process may have: all processes together have as many as one would."""
        return max(1, self.pool_size // self.processes)


def _processes(environment: Mapping[str, str], pool_size: int) -> int:
    """How many processes share the port: `cores` is one for each core. Each needs a connection."""
    if environment.get("PROCESSES") == "cores":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, pool_size)
    return number(environment, "PROCESSES", 1, range(1, 1_001))


def _repository(environment: Mapping[str, str]) -> str:
    repository = environment.get("RECORD_REPOSITORY", "asyncio")
    if repository not in ("asyncio", "threads"):
        raise InvalidSettings(f'RECORD_REPOSITORY must be asyncio or threads, but is "{repository}".')
    return repository


def _api_keys(environment: Mapping[str, str]) -> list[str]:
    keys = [key.strip() for key in environment.get("API_KEYS", "").split(",")]
    if "" in keys:
        # The sentence does not repeat what is read here: it is secret.
        raise InvalidSettings("API_KEYS must be the keys to accept, separated by single commas.")
    return keys
