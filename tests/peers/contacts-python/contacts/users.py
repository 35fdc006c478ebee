"""The users, and the proof that a request comes from one of them."""

from base64 import b64decode
from binascii import Error
from hmac import compare_digest

from starlette.exceptions import HTTPException
from starlette.requests import Request


class Users:
    """Those who have an address book."""

    def __init__(self, passwords: dict[str, str]) -> None:
        self._accepted = [(name, f"{name}:{password}".encode()) for name, password in passwords.items()]

    def admit(self, request: Request) -> str:
        """The name of the user whose password the request has brought, by HTTP's Basic scheme; a 401 if it has brought none."""
        credentials = _credentials(request.headers.get("Authorization", ""))
        # Compared with all, whatever the result so far: the time taken says nothing about how close a guess is.
        admitted = [name for name, accepted in self._accepted if compare_digest(credentials, accepted)]
        if not admitted:
            raise HTTPException(
                401,
                "a name and its password are required",
                {"WWW-Authenticate": 'Basic realm="contacts", charset="UTF-8"'},
            )
        return admitted[0]


def _credentials(header: str) -> bytes:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        name, colon, password = b64decode(encoded.strip(), validate=True).partition(b":")
    except (Error, ValueError):
        return b""
    # A phone begins a name with a capital, and puts a space behind it.
    return name.strip().lower() + colon + password
