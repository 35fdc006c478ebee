"""Puts the service together: its routes, and the database behind them."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing import parent_process

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .api_key import ApiKeys
from .database import Records
from .on_asyncio import AsyncioRecords
from .on_threads import ThreadRecords
from .problems import HANDLERS
from .settings import Settings

_INTEGER = re.compile("[+-]?[0-9]+")


def service() -> Starlette:
    """The service with the settings of the environment."""
    settings = Settings.from_environment()
    keys = ApiKeys(settings.api_keys)
    records: Records = ThreadRecords(settings) if settings.repository == "threads" else AsyncioRecords(settings)

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_request: Request) -> JSONResponse:
        await records.ping()
        return JSONResponse({"status": "ready"})

    async def read(request: Request) -> JSONResponse:
        keys.judge(request)
        record_id = _integer(request.path_params["id"])
        record = await records.find(record_id)
        if record is None:
            raise HTTPException(404, f"there is no record with id {record_id}")
        return JSONResponse(dict(record))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        _end_with_the_parent()
        await records.open()
        yield
        await records.close()

    routes = [Route("/health", health), Route("/ready", ready), Route("/read/{id}", read)]
    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    # Empty segments of a path do not count, and nobody is sent elsewhere for one.
    app.router.redirect_slashes = False
    app.router.default = _nothing_here
    return app


def _end_with_the_parent() -> None:
    """Has this process stop when the one that started it is killed. uvicorn's workers would go on and keep the port."""
    if (parent := parent_process()) is not None:
        asyncio.get_running_loop().add_reader(parent.sentinel, signal.raise_signal, signal.SIGTERM)


async def _nothing_here(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise HTTPException(404, "there is nothing at this path")


def _integer(text: str) -> int:
    """A signed 32-bit integer in ASCII digits."""
    number = int(text) if len(text) <= 4_000 and _INTEGER.fullmatch(text) else None
    if number is None or not -(2**31) <= number < 2**31:
        raise HTTPException(400, "id must be a 32-bit integer")
    return number
