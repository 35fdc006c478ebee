"""Starts the service: in this process, or in several that share the port."""

from serving import start

from .problems import ProblemProtocol
from .settings import Settings


def main() -> None:
    settings = start.read(Settings.from_environment)
    start.serve(
        "records.service:service",
        settings.address,
        settings.port,
        settings.log_level,
        workers=settings.processes,
        http=ProblemProtocol,
    )


if __name__ == "__main__":
    main()
