"""Puts the service together: its routes, and the address books behind them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote, unquote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from . import vcard, xml
from .books import Books, NewContact, Put, UidConflict
from .conditions import Condition
from .database import Database, DatabaseUnavailable
from .problems import HANDLERS
from .settings import Settings
from .users import Users

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffd-\uffff]")
_IN_SEGMENTS = "-._~!$&'()*+,;=:@"
_MAX_NAME = 255
_MAX_CARD = 1_048_576
_MAX_XML = 1_048_576
# Some clients have no name for it, or another: what they send is a vCard, or is refused as none.
_CARDS = {"text/vcard", "text/x-vcard", "text/directory", "application/vcard", ""}
# XML is also text, and some programs say no more than that.
_XML = {"application/xml", "text/xml", "text/plain", ""}
_UTF8 = re.compile(r'\s*charset\s*=\s*"?utf-8"?\s*', re.IGNORECASE)


def service() -> Starlette:
    """The service with the settings of the environment."""
    settings = Settings.from_environment()
    users = Users(settings.users)
    database = Database(settings)
    books = Books(database)

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_request: Request) -> Response:
        if not database.is_up_to_date:
            raise DatabaseUnavailable("the schema is not there yet")
        await books.ping()
        return JSONResponse({"status": "ready"})

    async def get(request: Request) -> Response:
        user, name = _contact(request, users)
        known = Condition.of(request).if_none_match
        contacts = await books.named(user, [name])
        if not contacts:
            raise HTTPException(404, "there is no contact with this name")
        contact = contacts[0]
        headers = {"ETag": contact["etag"], "Last-Modified": _http_date(contact["changed"])}
        if "*" in known or contact["etag"] in known:
            return Response(None, 304, headers)
        return Response(contact["vcard"], 200, headers, "text/vcard; charset=utf-8")

    async def put(request: Request) -> Response:
        user, name = _contact(request, users)
        if not _is_utf8_of(request, _CARDS):
            return xml.rule(415, f"{xml.CARDDAV}supported-address-data")
        condition = Condition.of(request)
        try:
            body = await _body(request, _MAX_CARD)
        except TooLarge:
            return xml.rule(413, f"{xml.CARDDAV}max-resource-size")
        try:
            text = body.decode()
            contact = NewContact(user, name, vcard.uid_of(text), text)
        except vcard.UnsupportedVersion:
            return xml.rule(415, f"{xml.CARDDAV}supported-address-data")
        except (UnicodeDecodeError, vcard.InvalidCard):
            return xml.rule(403, f"{xml.CARDDAV}valid-address-data")
        try:
            status = 201 if await books.put(contact, condition) is Put.CREATED else 204
        except UidConflict:
            holder = await books.name_of(user, contact.uid)
            href = xml.element(f"{xml.DAV}href", _path(user, holder or contact.name))
            return xml.rule(409, f"{xml.CARDDAV}no-uid-conflict", href)
        return Response(None, status, {"ETag": contact.etag})

    async def report(request: Request) -> Response:
        user = _owner(request, users)
        if not _is_utf8_of(request, _XML):
            raise HTTPException(415, "the body must be XML in UTF-8")
        asked = xml.read(await _body(request, _MAX_XML))
        if asked.tag != f"{xml.CARDDAV}addressbook-multiget":
            return xml.rule(403, f"{xml.DAV}supported-report")
        prop = asked.find(f"{xml.DAV}prop")
        tags = [] if prop is None else [child.tag for child in prop]
        hrefs = dict.fromkeys((href.text or "").strip() for href in asked.iterfind(f"{xml.DAV}href"))
        names = {href: _name_at(href, user) for href in hrefs}
        contacts = await books.named(user, [name for name in names.values() if name])
        found = {contact["name"]: _properties(contact) for contact in contacts}
        return xml.multistatus(
            xml.described(_path(user, names[href]), ((tag, found[names[href]].get(tag)) for tag in tags))
            if names[href] in found
            else xml.missing(href)
            for href in hrefs
        )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await database.open()
        yield
        await database.close()

    contact_path = "/addressbooks/{user}/contacts/{name}"
    routes = [
        Route("/health", health),
        Route("/ready", ready),
        Route(contact_path, get, methods=["GET"]),
        Route(contact_path, put, methods=["PUT"]),
        Route("/addressbooks/{user}/contacts/", report, methods=["REPORT"]),
    ]
    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _nothing_here
    return app


def _owner(request: Request, users: Users) -> str:
    """The user that the request comes from, whose path it has to be."""
    user = users.admit(request)
    if request.path_params["user"] != user:
        raise HTTPException(403, "this belongs to another user")
    return user


def _contact(request: Request, users: Users) -> tuple[str, str]:
    user, name = _owner(request, users), request.path_params["name"]
    if not _is_name(name):
        raise HTTPException(400, "the name must be 1 to 255 bytes of UTF-8, without control characters, and not . or ..")
    return user, name


def _is_name(name: str) -> bool:
    return 1 <= len(name.encode()) <= _MAX_NAME and name not in (".", "..") and not _CONTROL.search(name)


def _book(user: str) -> str:
    return f"/addressbooks/{user}/contacts/"


def _path(user: str, name: str) -> str:
    return _book(user) + quote(name, safe=_IN_SEGMENTS)


def _name_at(href: str, user: str) -> str | None:
    """The name of the user's contact at this path, which may be a whole URL as well."""
    path = unquote(urlsplit(href).path)
    name = path.removeprefix(_book(user))
    return name if path.startswith(_book(user)) and _is_name(name) else None


def _properties(contact) -> dict[str, str]:
    """What a report can tell of a contact, by the properties' tags."""
    return {
        f"{xml.DAV}getetag": xml.text(contact["etag"]),
        f"{xml.DAV}getcontenttype": "text/vcard; charset=utf-8",
        f"{xml.DAV}getcontentlength": str(len(contact["vcard"].encode())),
        f"{xml.DAV}getlastmodified": _http_date(contact["changed"]),
        f"{xml.DAV}resourcetype": "",
        f"{xml.CARDDAV}address-data": xml.text(contact["vcard"]),
    }


def _http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def _is_utf8_of(request: Request, media_types: set[str]) -> bool:
    media_type, *parameters = request.headers.get("Content-Type", "").split(";")
    charsets = [parameter for parameter in parameters if "charset" in parameter.lower()]
    return media_type.strip().lower() in media_types and all(map(_UTF8.fullmatch, charsets))


class TooLarge(HTTPException):
    """The body is larger than what is read of one."""


async def _body(request: Request, most: int) -> bytes:
    """The body, of which no more is read than may be there."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise HTTPException(415, "a compressed body is not accepted")
    chunks, length = [], 0
    async for chunk in request.stream():
        chunks.append(chunk)
        length += len(chunk)
        if length > most:
            raise TooLarge(413, f"the body must not be larger than {most} bytes")
    return b"".join(chunks)


async def _nothing_here(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise HTTPException(404, "there is nothing at this path")
