"""Conditions: what must be there for a request to be carried out (RFC 9110, section 13)."""

import re
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request

_TAG = re.compile(r'(?:W/)?"[^"]*"')
_LIST = re.compile(rf"\s*{_TAG.pattern}(?:[\s,]+{_TAG.pattern})*[\s,]*")


@dataclass(frozen=True)
class Condition:
    """Tags in their quotes, with `*` among them where any will do. `if_match` is None where nothing needs to be there."""

    if_match: list[str] | None
    if_none_match: list[str]

    @classmethod
    def of(cls, request: Request) -> "Condition":
        there, not_there = (_tags(request, name) for name in ("If-Match", "If-None-Match"))
        # A weak tag promises too little to change anything for.
        strong = None if there is None else [tag for tag in there if not tag.startswith("W/")]
        return cls(strong, [tag.removeprefix("W/") for tag in not_there or []])


def _tags(request: Request, name: str) -> list[str] | None:
    values = request.headers.getlist(name)
    if not values:
        return None
    text = ",".join(values)
    if text.strip() == "*":
        return ["*"]
    if not _LIST.fullmatch(text):
        raise HTTPException(400, "If-Match and If-None-Match must be * or a list of entity tags")
    return _TAG.findall(text)
