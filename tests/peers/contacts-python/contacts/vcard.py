"""vCards: whether a text is one, and its UID (RFC 2426, RFC 6350)."""

import re

_FOLD = re.compile("(?:\r\n|\r|\n)[ \t]")
_BREAK = re.compile("\r\n|\r|\n")
# An optional group, a name, parameters, a colon and the value. A line that is none is kept, and nothing is found in it.
_LINE = re.compile(r"(?:[^.:;]*\.)?([^.:;]+)(?:;[^:]*)?:(.*)")
# What XML cannot carry in a report.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# A program that writes a card of version 3.0 anew as 4.0 puts this before the UID, some of them twice: it is the same UID.
_URN = re.compile("^(?:urn:uuid:)+(?=.)", re.IGNORECASE)
_MAX_UID = 500


class InvalidCard(Exception):
    """The text is not exactly one vCard that has a version and a UID."""


class UnsupportedVersion(Exception):
    """The vCard is of another version than 3.0 and 4.0."""


def uid_of(text: str) -> str:
    """The UID of the vCard that the text is; raises InvalidCard when it is none, and UnsupportedVersion when it is too old."""
    if _NO_TEXT.search(text):
        raise InvalidCard
    lines = [line for line in _BREAK.split(_FOLD.sub("", text.removeprefix("\ufeff"))) if line.strip()]
    if len(lines) < 2 or not _is(lines[0], "BEGIN") or not _is(lines[-1], "END"):
        raise InvalidCard
    if any(_is(line, "BEGIN") or _is(line, "END") for line in lines[1:-1]):
        raise InvalidCard
    properties = [(line[1].upper(), line[2]) for line in map(_LINE.fullmatch, lines) if line]
    # A program may say the same twice.
    version = {value.strip() for name, value in properties if name == "VERSION"}
    uid = {_URN.sub("", value.strip()) for name, value in properties if name == "UID"}
    if len(version) == 1 and not version <= {"3.0", "4.0"}:
        raise UnsupportedVersion
    if len(version) != 1 or len(uid) != 1:
        raise InvalidCard
    (found,) = uid
    if not found or len(found) > _MAX_UID:
        raise InvalidCard
    return found


def _is(line: str, name: str) -> bool:
    return line.upper().replace(" ", "") == f"{name}:VCARD"
