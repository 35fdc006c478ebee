"""Turns everything that goes wrong into a problem document (RFC 9457)."""

import json
import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .books import ConditionFailed
from .database import DatabaseUnavailable

_log = logging.getLogger("uvicorn.error")


def _answer(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status, headers, "application/problem+json")


async def refused(_request: Request, error: HTTPException) -> Response:
    detail = "this path does not support that method" if error.status_code == 405 else error.detail
    return _answer(error.status_code, detail, error.headers)


async def condition_failed(_request: Request, _error: ConditionFailed) -> Response:
    return _answer(412, "the condition does not hold")


async def unavailable(_request: Request, error: DatabaseUnavailable) -> Response:
    _log.info("the database does not answer: %s", error)
    return _answer(503, "the database does not answer")


async def unexpected(_request: Request, _error: Exception) -> Response:
    """What nobody thought of; uvicorn logs it."""
    return _answer(500, "an unexpected error occurred")


HANDLERS = {
    HTTPException: refused,
    ConditionFailed: condition_failed,
    DatabaseUnavailable: unavailable,
    Exception: unexpected,
}
