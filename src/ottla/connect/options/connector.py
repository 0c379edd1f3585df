"""The settings that every connector has, and what is made of a whole configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ottla.connect.connectors.connector import Connector, Sink
from ottla.connect.errors import ConfigInvalid, ConnectError
from ottla.connect.options.table import (
    Importance,
    Kind,
    Option,
    Options,
    at_least,
    non_empty,
    one_of,
)
from ottla.connect.plugins import UnknownPlugin, connector_class, converter_class
from ottla.connect.references import resolved
from ottla.connect.transforms.chain import Chain

Settings = Mapping[str, str | None]
_HIGH, _LOW = Importance.HIGH, Importance.LOW


def _is_connector(name: str, value: Any) -> str | None:
    try:
        connector_class(value)
    except UnknownPlugin as unknown:
        return str(unknown)
    return None


def _is_converter(name: str, value: Any) -> str | None:
    if value is None or str(value).endswith("SimpleHeaderConverter"):
        return None
    try:
        converter_class(value)
    except UnknownPlugin as unknown:
        return str(unknown)
    return None


def _option(name: str, kind: Kind, default: Any, doc: str, **more: Any) -> Option:
    return Option(name=name, kind=kind, default=default, doc=doc, group="Common", **more)


_COMMON: Final = (
    Option(
        name="name",
        kind=Kind.STRING,
        importance=_HIGH,
        check=non_empty,
        group="Common",
        doc="The name of the connector, unlike all others.",
    ),
    Option(
        name="connector.class",
        kind=Kind.STRING,
        importance=_HIGH,
        check=_is_connector,
        group="Common",
        doc="The connector, by its short name or Kafka Connect's class name.",
    ),
    _option(
        "tasks.max", Kind.INT, 1, "How many tasks may work at a time.", importance=_HIGH, check=at_least(1)
    ),
    _option("key.converter", Kind.STRING, None, "Of keys; the worker's unless set.", check=_is_converter),
    _option("value.converter", Kind.STRING, None, "Of values; the worker's unless set.", check=_is_converter),
    _option("header.converter", Kind.STRING, None, "Of headers; the worker's unless set.", check=_is_converter),
    _option("transforms", Kind.LIST, [], "Names of transforms, in their order.", importance=_LOW),
    _option("predicates", Kind.LIST, [], "Names of predicates.", importance=_LOW),
    _option(
        "errors.tolerance",
        Kind.STRING,
        "none",
        "none stops the connector at a record that fails, all passes it over.",
        check=one_of("none", "all"),
    ),
    _option(
        "errors.deadletterqueue.topic.name",
        Kind.STRING,
        "",
        "Where records go that fail and are passed over.",
    ),
    _option(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        True,
        "Whether headers tell why a record failed, and where it came from.",
    ),
)  # fmt: skip
_SINK: Final = (
    _option("topics", Kind.LIST, [], "Topics to read, with commas between.", importance=_HIGH),
    _option("topics.regex", Kind.STRING, "", "A regular expression for topics to read.", importance=_HIGH),
)  # fmt: skip
_NO_CONNECTOR: Final = Options(_COMMON)


def options_of(settings: Settings) -> Options:
    """Return the table of all settings that a connector of this class has."""
    name = settings.get("connector.class")
    try:
        found = connector_class(name or "")
    except UnknownPlugin:
        return _NO_CONNECTOR
    sink = _SINK if issubclass(found, Sink) else ()
    own = tuple(row for row in found.options.rows if row.name != "file.roots")
    return Options((*_COMMON, *sink, *own))


def with_defaults(settings: Mapping[str, str], worker: Mapping[str, Any]) -> dict[str, str]:
    """Return a configuration with the worker's converters where it names none, and the worker's roots."""
    defaults = {
        f"{part}.converter": worker[f"{part}.converter"] for part in ("key", "value", "header")
    }
    found = {**settings, "file.roots": ",".join(worker["file.roots"])}
    for name, value in defaults.items():
        if not found.get(name):
            found[name] = value
            # What the worker's converter was told belongs to it.
            inside = {n: str(v) for n, v in worker.items() if n.startswith(f"{name}.")}
            found = {**inside, **found}
    return found


def problems_of(settings: Settings) -> dict[str, list[str]]:
    """Return all that is wrong with a configuration, by setting."""
    try:
        given = resolved(settings)
    except ConfigInvalid as wrong:
        return dict(wrong.problems)
    problems = options_of(given).problems(given)
    checks: tuple[Callable[[], object], ...] = (
        partial(Chain, given),
        partial(_subscribed, given),
        *(() if problems else (partial(_made, given),)),
    )
    for check in checks:
        try:
            check()
        except ConfigInvalid as wrong:
            problems = wrong.problems | problems
    return problems


def _made(given: Settings) -> None:
    try:
        instance_of(given)
    except ConfigInvalid:
        raise
    except ConnectError as wrong:
        raise ConfigInvalid({"connector.class": [str(wrong)]}) from None


def _subscribed(given: Settings) -> None:
    try:
        is_sink = issubclass(connector_class(given.get("connector.class") or ""), Sink)
    except UnknownPlugin:
        return
    if not is_sink:
        return
    named = [name for name in ("topics", "topics.regex") if (given.get(name) or "").strip()]
    if len(named) != 1:
        sentence = (
            "Must configure one of topics or topics.regex"
            if not named
            else "topics and topics.regex are mutually exclusive options, but both are set."
        )
        raise ConfigInvalid({"topics": [sentence]})


def instance_of(settings: Settings) -> Connector:
    """Return the connector of a configuration."""
    given = resolved(settings)
    try:
        return connector_class(given.get("connector.class") or "")(given)
    except UnknownPlugin as unknown:
        raise ConfigInvalid({"connector.class": [str(unknown)]}) from None


def topics_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Return what a sink reads, as options of `format("ottla")`."""
    topics = [each.strip() for each in settings.get("topics", "").split(",") if each.strip()]
    if topics:
        return {"subscribe": ",".join(topics)}
    return {"subscribePattern": settings["topics.regex"]}
