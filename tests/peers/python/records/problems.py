"""Turns everything that goes wrong into a problem document (RFC 9457)."""

import json
import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .database import DatabaseUnavailable, QueryFailed

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("uvicorn.error")


def problem(status: int, detail: str) -> bytes:
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _answer(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return Response(problem(status, detail), status, headers, MEDIA_TYPE)


async def refused(_request: Request, error: HTTPException) -> Response:
    """Answers what a route has refused, and what Starlette has."""
    match error.status_code:
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return _answer(405, "this path does not support that method", {"Allow": "GET, HEAD"})
        case status:
            return _answer(status, error.detail, error.headers)


async def unavailable(_request: Request, error: DatabaseUnavailable) -> Response:
    _log.info("the database does not answer: %s", error)
    return _answer(503, "the database does not answer")


async def failed(_request: Request, error: QueryFailed) -> Response:
    """What the client cannot know is logged, and not told."""
    _log.error("a query failed: %s", error, exc_info=error)
    return _answer(500, "an unexpected error occurred")


async def unexpected(_request: Request, _error: Exception) -> Response:
    """The same for what nobody thought of; uvicorn logs it."""
    return _answer(500, "an unexpected error occurred")


HANDLERS = {HTTPException: refused, DatabaseUnavailable: unavailable, QueryFailed: failed, Exception: unexpected}


class ProblemProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with a problem for what cannot be read, such as a method that HTTP does not know."""

    def send_400_response(self, msg: str) -> None:
        body = problem(400, "the request is malformed")
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode() + body)
        self.transport.close()
