"""Conditions: what must be there for a request to be carried out (RFC 9110, section 13)."""

import re
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request

_TAG = re.compile(r'"[^"]*"')
_LIST = re.compile(rf"\s*(?:W/)?{_TAG.pattern}(?:[\s,]+(?:W/)?{_TAG.pattern})*[\s,]*")


@dataclass(frozen=True)
class Condition:
    """Tags in their quotes, with `*` among them where any will do. `if_match` is None where nothing needs to be there."""

    if_match: list[str] | None
    if_none_match: list[str]

    @classmethod
    def of(cls, request: Request) -> "Condition":
        return cls(_tags(request, "If-Match"), _tags(request, "If-None-Match") or [])

    def allows(self, etag: str) -> bool:
        """Whether a contact with this tag meets it."""
        return (self.if_match is None or _names(self.if_match, etag)) and not _names(self.if_none_match, etag)


def _names(tags: list[str], etag: str) -> bool:
    return "*" in tags or etag in tags


def _tags(request: Request, name: str) -> list[str] | None:
    values = request.headers.getlist(name)
    if not values:
        return None
    text = ",".join(values)
    if text.strip() == "*":
        return ["*"]
    if not _LIST.fullmatch(text):
        raise HTTPException(400, "If-Match and If-None-Match must be * or a list of entity tags")
    # A tag is the digest of a text. A proxy that compresses makes it weak, and it still means that text.
    return _TAG.findall(text)
