"""Reads one setting at a time from environment variables, and says in a sentence what is wrong with it."""

from collections.abc import Mapping


class InvalidSettings(Exception):
    """A variable that stops the start, as one sentence for the person who set it."""


def number(environment: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    text = environment.get(name)
    if text is None:
        return default
    if not text.isdecimal() or int(text) not in allowed:
        least, most = allowed[0], allowed[-1]
        raise InvalidSettings(f'{name} must be a whole number from {least} to {most}, but is "{text}".')
    return int(text)


def log_level(environment: Mapping[str, str]) -> str:
    level = environment.get("LOG_LEVEL", "warn").lower()
    return {"warn": "warning"}.get(level, level)


def database_url(environment: Mapping[str, str]) -> str:
    url = environment.get("DATABASE_URL", "")
    if not url.startswith(("postgres://", "postgresql://")):
        raise InvalidSettings("DATABASE_URL must be of the shape postgres://user:password@host:port/database.")
    return url
