"""Changes to the settings of several resources: each is checked by itself, and the controller decides on the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.errors import told
from ottla.config.dynamic import Change, Op
from ottla.controller.controller import Controller
from ottla.controller.requests import ConfigAlteration, ConfigResult
from ottla.protocol.errors import ErrorCode

# (name, number of the operation, value), as the client sent them.
Asked: TypeAlias = tuple[str, int, str | None]


def alteration(
    resource_type: int, resource_name: str, asked: Sequence[Asked], *, replace: bool = False
) -> ConfigAlteration | ConfigResult:
    """The changes to one resource, or why they make no sense whatever the resource is."""
    try:
        changes = _changes(asked)
    except ApiError as error:
        return ConfigResult(resource_type, resource_name, ErrorCode(error.code), error.message)
    return ConfigAlteration(resource_type, resource_name, changes, replace)


async def carry_out(
    controller: Controller,
    wanted: Iterable[ConfigAlteration | ConfigResult],
    *,
    validate_only: bool,
) -> list[ConfigResult]:
    """Make the changes, all of a resource or none; one result for each resource."""
    refused = [each for each in wanted if isinstance(each, ConfigResult)]
    alterations = [each for each in wanted if isinstance(each, ConfigAlteration)]
    try:
        results = await controller.alter_configs(alterations, validate_only=validate_only)
    except (ApiError, ClusterError) as failure:
        code, message = told(failure)
        results = [ConfigResult(*each[:2], ErrorCode(code), message) for each in alterations]
    return [*refused, *results]


def _changes(asked: Sequence[Asked]) -> list[Change]:
    repeated = [name for name, times in Counter(name for name, _, _ in asked).items() if times > 1]
    if repeated:
        raise _invalid(f"settings are named more than once: {', '.join(repeated)}")
    without = [name for name, op, value in asked if value is None and op != Op.DELETE]
    if without:
        raise _invalid(f"settings must have a value: {', '.join(without)}")
    unknown = [op for _, op, _ in asked if op not in Op.__members__.values()]
    if unknown:
        raise _invalid(f"there is no operation {unknown[0]} on settings")
    return [Change(name, Op(op), value) for name, op, value in asked]


def _invalid(why: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, why)
