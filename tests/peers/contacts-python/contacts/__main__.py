"""Starts the service."""

import sys

import uvicorn

from .settings import InvalidSettings, Settings


def main() -> None:
    try:
        settings = Settings.from_environment()
    except InvalidSettings as wrong:
        # No bug: the reader gets a sentence, not a stack trace.
        sys.exit(str(wrong))
    uvicorn.run(
        "contacts.service:service",
        factory=True,
        host=settings.address,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
