"""vCards: whether a text is one, and its UID (RFC 2426, RFC 6350)."""

import re

_FOLD = re.compile("\r?\n[ \t]")
# An optional group, a name, parameters, a colon and the value. A colon within quotes is a parameter's.
_LINE = re.compile(r'(?:[^.:;"]*\.)?([A-Za-z0-9-]+)(?:;(?:[^":]|"[^"]*")*)?:(.*)')
# What XML cannot carry in a report.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_MAX_UID = 500


class InvalidCard(Exception):
    """The text is not exactly one vCard of version 3.0 or 4.0 that has FN and UID."""


def uid_of(text: str) -> str:
    """The UID of the vCard that the text is; raises InvalidCard when it is none."""
    if _NO_TEXT.search(text):
        raise InvalidCard
    lines = [_LINE.fullmatch(line) for line in re.split("\r?\n", _FOLD.sub("", text)) if line]
    if None in lines:
        raise InvalidCard
    properties = [(line[1].upper(), line[2]) for line in lines]
    if len(properties) < 2 or not _is(properties[0], "BEGIN") or not _is(properties[-1], "END"):
        raise InvalidCard
    inside: dict[str, list[str]] = {}
    for name, value in properties[1:-1]:
        inside.setdefault(name, []).append(value)
    version, uid = inside.get("VERSION", []), inside.get("UID", [])
    whole = "BEGIN" not in inside and "END" not in inside
    if not whole or version not in (["3.0"], ["4.0"]) or "FN" not in inside:
        raise InvalidCard
    if len(uid) != 1 or not uid[0].strip() or len(uid[0]) > _MAX_UID:
        raise InvalidCard
    return uid[0]


def _is(line: tuple[str, str], name: str) -> bool:
    return line[0] == name and line[1].strip().upper() == "VCARD"
