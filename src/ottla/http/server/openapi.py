"""The description of the API (OpenAPI 3.1), from the table that routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from ottla._version import __version__
from ottla.config.kinds import Bool, Double, Int, Kind, ListOf, OneOf
from ottla.http.server.errors import PROBLEM_JSON, Dialect
from ottla.http.server.routes import Query, Route

_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_ERROR: Final = {
    "type": "object",
    "required": ["error_code", "message"],
    "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
}
_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "error_code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error_code": {"type": "integer"},
        "kafka_code": {"type": "integer"},
        "kafka_error": {"type": "string"},
    },
}
_WHOLE_NUMBERS: Final = frozenset(("partition_id", "broker_id"))


def document(routes: Iterable[Route], *, title: str, server: str = "/") -> dict[str, Any]:
    """The whole description."""
    routes = [route for route in routes if route.tag]
    types = {id(each): each for route in routes for each in (route.body, route.answer) if each}
    schemas, components = msgspec.json.schema_components(
        types.values(), ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {"schemas": {**components, "Error": _ERROR, "Problem": _PROBLEM}},
    }


def _operation(route: Route, schema_of: dict[int, Any]) -> dict[str, Any]:
    described = (route.handler.__doc__ or "").strip()
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "description": described,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *map(_query_parameter, route.query)],
        "responses": _responses(route, schema_of),
    }
    if route.body is not None:
        schema = schema_of[id(route.body)]
        operation["requestBody"] = {
            "required": not route.optional_body,
            "content": {name: {"schema": schema} for name in _documented(route.takes)},
        }
    return operation


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", route.path.replace("-", "_"))
    return "_".join((route.method.lower(), *words))


def _documented(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name != "application/octet-stream")


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0}
            if name in _WHOLE_NUMBERS
            else {"type": "string"},
        }
        for name in _PARAMETER.findall(route.path)
    ]


def _query_parameter(query: Query) -> dict[str, Any]:
    schema = _kind_schema(query.kind)
    if query.default is not None and not query.required:
        schema["default"] = (
            query.default if schema["type"] != "string" else query.kind.text(query.default)
        )
    return {
        "name": query.name,
        "in": "query",
        "required": query.required,
        "description": query.doc,
        "schema": schema,
    }


def _kind_schema(kind: Kind[Any]) -> dict[str, Any]:
    if isinstance(kind, Bool):
        return {"type": "boolean"}
    if isinstance(kind, Int):
        return {"type": "integer", "minimum": kind.least, "maximum": kind.most}
    if isinstance(kind, Double):
        return {"type": "number", "minimum": kind.least, "maximum": kind.most}
    if isinstance(kind, OneOf):
        return {"type": "string", "enum": list(kind.words)}
    if isinstance(kind, ListOf):
        return {"type": "string", "description": kind.allowed()}
    words = getattr(kind, "words", None)
    if words is not None:
        return {"type": "string", "enum": list(words.__members__)}
    return {"type": "string"}


def _responses(route: Route, schema_of: dict[int, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if route.answer is None else "The answer."}
    if route.answer is not None:
        schema = schema_of[id(route.answer)]
        answer["content"] = {
            name: {"schema": schema if "json" in name else {}} for name in route.gives
        }
    own = route.dialect is Dialect.OWN
    name, content_type = ("Problem", PROBLEM_JSON) if own else ("Error", route.gives[0])
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {
        str(route.status): answer,
        "4XX": {"description": "Refused.", "content": {content_type: {"schema": schema}}},
        "5XX": {"description": "Failed.", "content": {content_type: {"schema": schema}}},
    }
