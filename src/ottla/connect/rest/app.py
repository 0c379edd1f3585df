"""The ASGI application: the table of routes, and what surrounds every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ottla.base.errors import OttlaError
from ottla.base.log import logger
from ottla.connect.rest import connectors, offsets, plugins, worker
from ottla.connect.rest.call import Call
from ottla.connect.rest.errors import RestError
from ottla.connect.worker.worker import Worker

log = logger(__name__)
Handler = Callable[[Call], Awaitable[Response]]

_ONE: Final = "/connectors/{connector}"
ROUTES: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("GET", "/", worker.show),
    ("GET", "/health", worker.health),
    ("GET", "/connectors", connectors.show_all),
    ("POST", "/connectors", connectors.create),
    ("GET", _ONE, connectors.show),
    ("DELETE", _ONE, connectors.delete),
    ("GET", f"{_ONE}/config", connectors.show_config),
    ("PUT", f"{_ONE}/config", connectors.put_config),
    ("PATCH", f"{_ONE}/config", connectors.patch_config),
    ("GET", f"{_ONE}/status", connectors.show_status),
    ("GET", f"{_ONE}/tasks", connectors.show_tasks),
    ("GET", f"{_ONE}/tasks/{{task:int}}/status", connectors.show_task_status),
    ("POST", f"{_ONE}/tasks/{{task:int}}/restart", connectors.restart_task),
    ("POST", f"{_ONE}/restart", connectors.restart),
    ("PUT", f"{_ONE}/pause", connectors.pause),
    ("PUT", f"{_ONE}/resume", connectors.resume),
    ("PUT", f"{_ONE}/stop", connectors.stop),
    ("GET", f"{_ONE}/topics", connectors.show_topics),
    ("PUT", f"{_ONE}/topics/reset", connectors.reset_topics),
    ("GET", f"{_ONE}/offsets", offsets.show),
    ("PATCH", f"{_ONE}/offsets", offsets.change),
    ("DELETE", f"{_ONE}/offsets", offsets.reset),
    ("GET", "/connector-plugins", plugins.show_all),
    ("GET", "/connector-plugins/{plugin}/config", plugins.show_settings),
    ("PUT", "/connector-plugins/{plugin}/config/validate", plugins.validate),
    ("GET", "/admin/loggers", worker.show_loggers),
    ("GET", "/admin/loggers/{logger}", worker.show_logger),
    ("PUT", "/admin/loggers/{logger}", worker.set_level),
)


def make_app(running: Worker, hosts: frozenset[str] | None) -> Starlette:
    """Return the application; `hosts` are the names it answers to, None for all."""

    def endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return await _answered(handler, request, running, hosts)

        return answer

    routes = [Route(path, endpoint(handler), methods=[method]) for method, path, handler in ROUTES]
    return Starlette(routes=routes, exception_handlers={404: _unknown, 405: _wrong_method})


async def _answered(
    handler: Handler, request: Request, running: Worker, hosts: frozenset[str] | None
) -> Response:
    try:
        _check_sender(request, hosts)
        return await handler(Call(request, running))
    except RestError as error:
        return JSONResponse(error.body(), status_code=error.status)
    except OttlaError as error:
        return JSONResponse({"error_code": 500, "message": str(error)}, status_code=500)
    except Exception:
        log.exception("request failed", method=request.method, path=request.url.path)
        told = {"error_code": 500, "message": "this failed in the worker; its log has the reason"}
        return JSONResponse(told, status_code=500)


def _check_sender(request: Request, hosts: frozenset[str] | None) -> None:
    """Refuse what a web page of somebody else's makes a browser send: there is no login on loopback."""
    host = request.headers.get("host", "")
    if hosts is not None and host.rpartition(":")[0].strip("[]") not in hosts:
        raise RestError(403, f"this worker is not called {host[:100]}")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("//")[2] != host:
        raise RestError(403, "requests from the pages of other hosts are refused")


async def _unknown(request: Request, error: Exception) -> Response:
    return JSONResponse({"error_code": 404, "message": "HTTP 404 Not Found"}, status_code=404)


async def _wrong_method(request: Request, error: Exception) -> Response:
    told = {"error_code": 405, "message": "HTTP 405 Method Not Allowed"}
    return JSONResponse(told, status_code=405)
