"""/ui/groups: all groups with their lag, those that are furthest behind first."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.client.administration.groups import GroupListing
from ottla.config.kinds import Int, OptionalText
from ottla.http.console.commands import admin_python, copies, quoted
from ottla.http.console.render import page
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Query, Route
from ottla.inspection.offset_moves import committed_offsets

_ROWS: Final = 50


class Row(NamedTuple):
    """A group of the list; its lag is None where nothing is committed."""

    group: GroupListing
    topics: list[str]
    lag: int | None


@page("groups.html", "groups")
async def groups(call: Call) -> dict[str, Any]:
    """Return what the page shows; the lag of the groups of this page alone is looked up."""
    link, admin, said = await call.link(), await call.admin(), call.query
    wanted = (said["q"] or "").lower()
    found = [each for each in await admin.list_groups() if wanted in each.group_id.lower()]
    last = max(1, -(-len(found) // _ROWS))
    number = min(said["page"], last)
    rows = [await _row(call, each) for each in found[(number - 1) * _ROWS : number * _ROWS]]
    return {
        "title": "Groups",
        "rows": sorted(rows, key=lambda row: (-(row.lag or 0), row.group.group_id)),
        "total": len(found),
        "number": number,
        "last": last,
        "said": said,
        "copies": copies(
            link.bootstrap,
            "ottla groups list",
            quoted(f"{call.base_url}/v3/clusters/{await call.cluster_id()}/consumer-groups"),
            admin_python("list_groups()"),
        ),
    }


async def _row(call: Call, group: GroupListing) -> Row:
    admin, ends = await call.admin(), call.services.sampler.of((await call.link()).label).ends
    try:
        committed = await committed_offsets(admin, group.group_id)
    except ApiError:
        return Row(group, [], None)
    lags = [max(0, ends[at] - offset) for at, offset in committed.items() if at in ends]
    return Row(group, sorted({at.topic for at in committed}), sum(lags) if lags else None)


_QUERY: Final = (
    Query("q", OptionalText(), "Part of the name."),
    Query("page", Int(1, 1_000_000), "Which page.", 1),
)
ROUTES: Final = (Route("GET", "/ui/groups", groups, "Groups", "", Dialect.OWN, _QUERY),)
