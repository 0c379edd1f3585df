"""/ui/groups/{group}: lag, members, what became of it, and the grid that moves its offsets."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.groups import GroupDescription
from ottla.config.kinds import OptionalText
from ottla.http.console.commands import admin_python, copies, quoted
from ottla.http.console.render import page
from ottla.http.rest.own.group_offsets import history as history_of
from ottla.http.rest.own.places import time_of
from ottla.http.rest.v3.consumer_groups import find_group
from ottla.http.server.call import Call, joined
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Query, Route
from ottla.inspection.diagnosis import WELL, Finding, group_findings
from ottla.inspection.group_progress import Reading, readings
from ottla.inspection.symptoms import group_facts

_NEWEST: Final = 30


class OffsetRow(NamedTuple):
    """A partition of the grid: where the group is, and where it could go."""

    reading: Reading
    by_time: int | None
    behind: int


@page("group.html", "groups")
async def group(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    link, admin, found = await call.link(), await call.admin(), await find_group(call)
    held = await readings(admin, found)
    times, flaw = await _by_time(call, [each.at for each in held])
    most = max((each.lag or 0 for each in held), default=0)
    name, cluster_id = found.group_id, await call.cluster_id()
    return {
        "title": name,
        "group": found,
        "rows": [
            OffsetRow(each, times.get(each.at), round(100 * (each.lag or 0) / most) if most else 0)
            for each in held
        ],
        "lag": sum(each.lag or 0 for each in held),
        "topics": sorted({each.at.topic for each in held}),
        "findings": await _findings(call, found),
        "history": await _history(call),
        "flaw": flaw,
        "said": call.query,
        "address": f"/v3/clusters/{cluster_id}/consumer-groups/{joined(name)}",
        "copies": copies(
            link.bootstrap,
            f"ottla groups reset {name} --all-topics --to-earliest",
            quoted(
                f"{call.base_url}/v3/clusters/{cluster_id}/consumer-groups/{joined(name)}/offsets:reset",
                "POST",
                '{"all_topics": true, "to_earliest": true, "dry_run": true}',
            ),
            admin_python(f"list_group_offsets({name!r})"),
        ),
    }


async def _by_time(
    call: Call, places: list[TopicPartition]
) -> tuple[dict[TopicPartition, int], HttpError | None]:
    text = call.query["time"]
    if text is None or not places:
        return {}, None
    try:
        moment = time_of(text, "time")
    except HttpError as flaw:
        return {}, flaw
    found = await (await call.admin()).list_offsets(dict.fromkeys(places, moment))
    return {
        at: each.offset
        for at, each in found.items()
        if not isinstance(each, ApiError) and each.offset >= 0
    }, None


async def _findings(call: Call, found: GroupDescription) -> list[Finding]:
    facts = await group_facts(await call.admin(), found, None)
    return [each for each in group_findings(facts, None) if each.level != WELL]


async def _history(call: Call) -> list[Any] | None:
    """The newest entries, newest first; None where the brokers remember nothing."""
    try:
        entries = (await history_of(call)).data
    except OttlaError:
        return None
    return [each for each in reversed(entries) if each.time_ms <= time.time() * 1000 + 60_000][
        :_NEWEST
    ]


_QUERY: Final = (Query("time", OptionalText(), "Fills the column of offsets by time."),)
ROUTES: Final = (
    Route("GET", "/ui/groups/{consumer_group_id}", group, "Group", "", Dialect.OWN, _QUERY),
)
