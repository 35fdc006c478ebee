"""XML: what clients send, without what could do harm, and the multistatus that they get (RFC 4918, section 13)."""

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from starlette.exceptions import HTTPException
from starlette.responses import Response

DAV = "{DAV:}"
CARDDAV = "{urn:ietf:params:xml:ns:carddav}"
_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
_NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"'
_MEDIA_TYPE = "application/xml; charset=utf-8"
_PREFIXES = {DAV: "D:", CARDDAV: "C:"}
# A reader of XML would take a carriage return for a line feed, and a vCard keeps its line breaks.
_CARRIAGE_RETURN = {"\r": "&#13;"}


class _Builder(ElementTree.TreeBuilder):
    """A tree without a DTD, which could declare entities that grow to gigabytes or name files of this machine."""

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        raise HTTPException(400, "a DTD is not allowed")


def read(body: bytes) -> ElementTree.Element:
    """The root element of a document."""
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(target=_Builder()))
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise HTTPException(400, "the body is not well-formed XML") from error


def text(value: str) -> str:
    return escape(value, _CARRIAGE_RETURN)


def element(tag: str, content: str = "") -> str:
    """An element by its name as ElementTree has it: `{DAV:}getetag`."""
    for namespace, prefix in _PREFIXES.items():
        if tag.startswith(namespace):
            name = prefix + tag.removeprefix(namespace)
            return f"<{name}>{content}</{name}>"
    namespace, _, local = tag.removeprefix("{").rpartition("}")
    return f'<x:{local} xmlns:x="{text(namespace)}">{content}</x:{local}>' if namespace else f"<{local}/>"


def described(href: str, properties: Iterable[tuple[str, str | None]]) -> str:
    """A response about one resource: its properties, None being one that it does not have."""
    found, missing = [], []
    for tag, value in properties:
        (missing if value is None else found).append(element(tag, value or ""))
    propstats = [(found, "200 OK"), (missing, "404 Not Found")]
    inside = "".join(
        f"<D:propstat><D:prop>{''.join(elements)}</D:prop><D:status>HTTP/1.1 {status}</D:status></D:propstat>"
        for elements, status in propstats
        if elements
    )
    return f"<D:response><D:href>{text(href)}</D:href>{inside}</D:response>"


def missing(href: str) -> str:
    """A response that says that nothing is there."""
    return f"<D:response><D:href>{text(href)}</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>"


def multistatus(responses: Iterable[str]) -> Response:
    body = f"{_DECLARATION}<D:multistatus {_NAMESPACES}>{''.join(responses)}</D:multistatus>"
    return Response(body, 207, media_type=_MEDIA_TYPE)


def rule(status: int, tag: str, content: str = "") -> Response:
    """The answer that names the rule of WebDAV which a request does not keep."""
    body = f"{_DECLARATION}<D:error {_NAMESPACES}>{element(tag, content)}</D:error>"
    return Response(body, status, media_type=_MEDIA_TYPE)
