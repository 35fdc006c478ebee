"""Starts the service."""

from serving import start

from .settings import Settings


def main() -> None:
    settings = start.read(Settings.from_environment)
    start.serve("contacts.service:service", settings.address, settings.port, settings.log_level, http="httptools")


if __name__ == "__main__":
    main()
