"""What every v3 resource begins with: its kind, its address and its name."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from ottla.http.server.call import Call, joined

CLUSTERS: Final = "/v3/clusters"


class ResourceMetadata(msgspec.Struct):
    """Where a resource is found, and its name."""

    self: str
    resource_name: str | None = None


class ListMetadata(msgspec.Struct):
    """Where a list is found, and its next page."""

    self: str
    next: str | None = None


class Related(msgspec.Struct):
    """The address of something that belongs to a resource."""

    related: str


class Resource(msgspec.Struct, kw_only=True):
    """What all resources have."""

    kind: str
    metadata: ResourceMetadata


class Links:
    """Addresses and names within one cluster, as the caller reaches it."""

    def __init__(self, call: Call, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self._base = f"{call.base_url}{CLUSTERS}/{joined(cluster_id)}"

    def url(self, *segments: str | int) -> str:
        """The address of something in the cluster."""
        return f"{self._base}/{joined(*segments)}" if segments else self._base

    def to(self, *segments: str | int) -> Related:
        """The same as a relation."""
        return Related(self.url(*segments))

    def metadata(self, crn: str, *segments: str | int) -> ResourceMetadata:
        """What a resource begins with; `crn` is its name behind that of the cluster."""
        return ResourceMetadata(self.url(*segments), f"crn:///kafka={self.cluster_id}{crn}")

    def listed(self, kind: str, data: list[Any], *segments: str | int) -> dict[str, Any]:
        """A list of resources."""
        return {
            "kind": kind,
            "metadata": {"self": self.url(*segments), "next": None},
            "data": data,
        }


async def links_of(call: Call) -> Links:
    """The addresses of the cluster that the call is about."""
    return Links(call, await call.cluster_id())


@cache
def list_of(kind: type[Any]) -> type[Any]:
    """The type of a list of resources, for the description of the API."""
    return msgspec.defstruct(
        f"{kind.__name__}List",
        [("kind", str), ("metadata", ListMetadata), ("data", list[kind])],  # type: ignore[valid-type]
        module=__name__,
    )
