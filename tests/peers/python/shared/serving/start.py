"""Starts a service on uvicorn."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import uvicorn

from .settings import InvalidSettings

T = TypeVar("T")


def read(settings: Callable[[], T]) -> T:
    try:
        return settings()
    except InvalidSettings as wrong:
        # No bug: the reader gets a sentence, not a stack trace.
        sys.exit(str(wrong))


def serve(service: str, address: str, port: int, log_level: str, **options: Any) -> None:
    """Serves what the function at this path makes, such as `records.service:service`, until the process is told to stop."""
    uvicorn.run(
        service,
        factory=True,
        host=address,
        port=port,
        loop="uvloop",
        ws="none",
        log_level=log_level,
        # It would hold whole URLs, and the query of a URL may hold a key.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        **options,
    )
