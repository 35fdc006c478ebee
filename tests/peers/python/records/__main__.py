"""Starts the service: in this process, or in several that share the port."""

import sys

import uvicorn

from .problems import ProblemProtocol
from .settings import InvalidSettings, Settings


def main() -> None:
    try:
        settings = Settings.from_environment()
    except InvalidSettings as wrong:
        # No bug: the reader gets a sentence, not a stack trace.
        sys.exit(str(wrong))
    uvicorn.run(
        "records.service:service",
        factory=True,
        host=settings.address,
        port=settings.port,
        workers=settings.processes,
        loop="uvloop",
        http=ProblemProtocol,
        ws="none",
        log_level=settings.log_level,
        # It would hold whole URLs, and the query of a URL may hold a key.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
