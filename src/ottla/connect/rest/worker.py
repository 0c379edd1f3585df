"""/, /health and /admin/loggers: the worker itself."""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.responses import JSONResponse, Response

from ottla._version import __version__
from ottla.client.admin import Admin
from ottla.connect.rest.call import Call
from ottla.connect.rest.errors import RestError

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
_NAMES = {logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN"} | {
    logging.ERROR: "ERROR",
    logging.CRITICAL: "FATAL",
}


async def show(call: Call) -> Response:
    """GET /"""
    async with Admin(call.worker.client) as admin:
        found = await admin.describe_cluster()
    return JSONResponse(
        {"version": __version__, "commit": "ottla", "kafka_cluster_id": found.cluster_id}
    )


async def health(call: Call) -> Response:
    """GET /health"""
    return JSONResponse(
        {
            "status": "healthy",
            "message": "Worker has completed startup and is ready to handle requests.",
        }
    )


async def show_loggers(call: Call) -> Response:
    """GET /admin/loggers"""
    named = [name for name in logging.root.manager.loggerDict if name.startswith("ottla")]
    return JSONResponse({name: _level(name) for name in sorted(named)} | {"root": _level("")})


async def show_logger(call: Call) -> Response:
    """GET /admin/loggers/{logger}"""
    name = call.request.path_params["logger"]
    if name != "root" and name not in logging.root.manager.loggerDict:
        raise RestError(404, f"Logger {name} not found.")
    return JSONResponse(_level("" if name == "root" else name))


async def set_level(call: Call) -> Response:
    """PUT /admin/loggers/{logger}"""
    name, given = call.request.path_params["logger"], await call.body()
    level = str(given.get("level") if isinstance(given, dict) else None).upper()
    if level not in _LEVELS:
        raise RestError(404, f"invalid log level '{level}'.")
    root = "" if name == "root" else name
    logging.getLogger(root).setLevel(_LEVELS[level])
    if call.request.query_params.get("scope", "worker").lower() == "cluster":
        return Response(status_code=204)
    changed = [n for n in logging.root.manager.loggerDict if n == root or n.startswith(f"{root}.")]
    return JSONResponse(sorted({name, *changed}))


def _level(name: str) -> dict[str, Any]:
    level = logging.getLogger(name).getEffectiveLevel()
    return {"level": _NAMES.get(level, "INFO"), "last_modified": int(time.time() * 1000)}
