"""/connector-plugins: what there is, its settings, and what is wrong with a configuration."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from ottla._version import __version__
from ottla.connect.connectors.connector import Source
from ottla.connect.options.connector import options_of, problems_of
from ottla.connect.options.table import Option, render
from ottla.connect.plugins import (
    CONNECTORS,
    CONVERTERS,
    UnknownPlugin,
    connector_class,
    predicate_class,
    predicate_names,
    transform_class,
    transform_names,
)
from ottla.connect.rest.call import Call
from ottla.connect.rest.errors import RestError


async def show_all(call: Call) -> Response:
    """GET /connector-plugins"""
    rows = []
    for short, (_, _, java_name) in sorted(CONNECTORS.items()):
        kind = "source" if issubclass(connector_class(short), Source) else "sink"
        rows += [{"class": java_name, "type": kind, "version": __version__}]
        rows += [{"class": short, "type": kind, "version": __version__}]
    if call.request.query_params.get("connectorsOnly", "true").lower() != "true":
        for kind, names in (
            ("converter", CONVERTERS),
            ("predicate", predicate_names()),
            ("transformation", transform_names()),
        ):
            rows += [{"class": name, "type": kind, "version": __version__} for name in names]
    return JSONResponse(rows)


async def show_settings(call: Call) -> Response:
    """GET /connector-plugins/{plugin}/config"""
    name = call.request.path_params["plugin"]
    for find in (connector_class, transform_class, predicate_class):
        try:
            found: Any = find(name)
        except UnknownPlugin:
            continue
        rows = (
            options_of({"connector.class": name}).rows
            if find is connector_class
            else found.options.rows
        )
        return JSONResponse([_definition(row) for row in rows])
    raise RestError(404, f"Unknown plugin {name}.")


async def validate(call: Call) -> Response:
    """PUT /connector-plugins/{plugin}/config/validate"""
    name = call.request.path_params["plugin"]
    given = await call.settings()
    given = {"connector.class": name, **given}
    try:
        if connector_class(name) is not connector_class(given["connector.class"] or ""):
            raise RestError(
                400,
                f"Included connector type {given['connector.class']} does not match request type {name}",
            )
    except UnknownPlugin as unknown:
        raise RestError(404, str(unknown)) from None
    problems = problems_of(call.worker.complete(given))
    options = options_of(given)
    configs = [_validated(row, given, problems.pop(row.name, [])) for row in options.rows]
    # What belongs to transforms and converters has no row of its own until it is wrong.
    configs += [_wrong(setting, given, texts) for setting, texts in problems.items()]
    return JSONResponse(
        {
            "name": given["connector.class"],
            "error_count": sum(len(each["value"]["errors"]) for each in configs),
            "groups": [
                "Common",
                *sorted({row.group for row in options.rows if row.group} - {"Common"}),
            ],
            "configs": configs,
        }
    )


def _definition(row: Option) -> dict[str, Any]:
    return {
        "name": row.name,
        "type": str(row.kind),
        "required": row.is_required,
        "default_value": render(row, row.default),
        "importance": str(row.importance),
        "documentation": row.doc,
        "group": row.group,
        "width": row.width,
        "display_name": row.display_name or row.name,
        "dependents": list(row.dependents),
        "order": -1,
    }


def _validated(row: Option, given: dict[str, str | None], errors: list[str]) -> dict[str, Any]:
    text = given.get(row.name)
    value = render(row, row.default) if text is None else render(row, text)
    told = {
        "name": row.name,
        "value": value,
        "recommended_values": list(row.recommended),
        "errors": errors,
        "visible": True,
    }
    return {"definition": _definition(row), "value": told}


def _wrong(setting: str, given: dict[str, str | None], errors: list[str]) -> dict[str, Any]:
    told = {
        "name": setting,
        "value": given.get(setting),
        "recommended_values": [],
        "errors": errors,
        "visible": True,
    }
    return {"definition": None, "value": told}
