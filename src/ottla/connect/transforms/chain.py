"""The transforms of a connector, in their order, each with its predicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ottla.connect.data.record import Record
from ottla.connect.errors import ConfigInvalid
from ottla.connect.plugins import UnknownPlugin, predicate_class, transform_class
from ottla.connect.predicates.predicate import Predicate
from ottla.connect.transforms.transform import Transform

Settings = Mapping[str, str | None]


class _Step(NamedTuple):
    transform: Transform
    predicate: Predicate | None
    negate: bool


class Chain:
    """Applies the transforms that `transforms` names."""

    def __init__(self, settings: Settings) -> None:
        problems: dict[str, list[str]] = {}
        predicates = _predicates(settings, problems)
        self._steps: list[_Step] = []
        for alias in _names(settings, "transforms"):
            step = _step(settings, alias, predicates, problems)
            if step is not None:
                self._steps.append(step)
        if problems:
            raise ConfigInvalid(problems)

    def __len__(self) -> int:
        return len(self._steps)

    def apply(self, record: Record) -> Record | None:
        """Return the record as it leaves the last transform; None if one has dropped it."""
        current: Record | None = record
        for transform, predicate, negate in self._steps:
            if predicate is not None and predicate.test(record) == negate:
                continue
            current = transform.apply(record)
            if current is None:
                return None
            record = current
        return record


def _names(settings: Settings, setting: str) -> list[str]:
    return [each.strip() for each in (settings.get(setting) or "").split(",") if each.strip()]


def _inside(settings: Settings, prefix: str) -> dict[str, str | None]:
    return {n[len(prefix) :]: value for n, value in settings.items() if n.startswith(prefix)}


def _predicates(settings: Settings, problems: dict[str, list[str]]) -> dict[str, Predicate]:
    made = {}
    for alias in _names(settings, "predicates"):
        found = _make(settings, f"predicates.{alias}.", predicate_class, problems)
        if found is not None:
            made[alias] = found
    return made


def _make(settings: Settings, prefix: str, find: Any, problems: dict[str, list[str]]) -> Any:
    given = _inside(settings, prefix)
    name = given.get("type")
    if not name:
        problems[f"{prefix}type"] = [
            f'Missing required configuration "{prefix}type" which has no default value.'
        ]
        return None
    try:
        return find(name)(given)
    except UnknownPlugin as unknown:
        problems[f"{prefix}type"] = [
            f"Invalid value {name} for configuration {prefix}type: {unknown}"
        ]
    except ConfigInvalid as wrong:
        problems.update({prefix + setting: texts for setting, texts in wrong.problems.items()})
    return None


def _step(
    settings: Settings,
    alias: str,
    predicates: Mapping[str, Predicate],
    problems: dict[str, list[str]],
) -> _Step | None:
    prefix = f"transforms.{alias}."
    given = _inside(settings, prefix)
    wanted = given.get("predicate")
    if wanted and wanted not in predicates:
        problems[f"{prefix}predicate"] = [
            f"Invalid value {wanted} for configuration {prefix}predicate: no predicate has that name;"
            " `predicates` lists them"
        ]
    transform = _make(settings, prefix, transform_class, problems)
    if transform is None:
        return None
    negate = (given.get("negate") or "false").strip().lower() == "true"
    return _Step(transform, predicates.get(wanted or ""), negate)
