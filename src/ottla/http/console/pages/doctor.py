"""/ui/doctor: what is wrong, and what mends it."""

from __future__ import annotations

from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.config.kinds import OptionalText
from ottla.http.console.commands import copies, query_of, quoted
from ottla.http.console.render import page
from ottla.http.rest.own.sizes import list_findings
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Query, Route


@page("doctor.html", "doctor")
async def doctor(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    said, link, flaw = call.query, await call.link(), None
    try:
        found = (await list_findings(call)).data
    except (ApiError, HttpError) as error:
        flaw = str(error)
        call.query = {"topic": None, "group": None}
        found = (await list_findings(call)).data
    options = "".join(f" --{name} {value}" for name, value in said.items() if value)
    address = f"{call.base_url}/v3/clusters/{await call.cluster_id()}/findings{query_of(said)}"
    return {
        "title": "Doctor",
        "findings": found,
        "said": said,
        "flaw": flaw,
        "copies": copies(
            link.bootstrap,
            f"ottla doctor{options}",
            quoted(address),
            f"import httpx\n\nfor each in httpx.get({address!r}).json()['data']:\n    print(each)",
        ),
    }


_QUERY: Final = (
    Query("topic", OptionalText(), "A topic that nothing comes out of."),
    Query("group", OptionalText(), "A group that gets nothing."),
)
ROUTES: Final = (Route("GET", "/ui/doctor", doctor, "Doctor", "", Dialect.OWN, _QUERY),)
