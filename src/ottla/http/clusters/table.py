"""The clusters of the settings, found by label or id."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from ottla.base.errors import OttlaError
from ottla.http.clusters.link import Link
from ottla.http.server.callers import Caller
from ottla.http.server.errors import HttpError
from ottla.http.settings import HttpSettings


class Clusters:
    """All clusters; the first one is meant where nothing is said."""

    def __init__(self, settings: HttpSettings) -> None:
        self._links = {each.label: Link(each) for each in settings.clusters}

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links.values())

    @property
    def first(self) -> Link:
        """The cluster of --bootstrap-server."""
        return next(iter(self))

    def by_label(self, label: str | None) -> Link:
        """The cluster with this label; the first with None."""
        if label is None:
            return self.first
        if label not in self._links:
            there = ", ".join(self._links)
            raise HttpError(404, f"there is no cluster {label[:100]} here; there is {there}")
        return self._links[label]

    async def by_id(self, cluster_id: str, caller: Caller) -> Link:
        """The cluster with this id."""
        links = list(self)
        if len(links) == 1:
            found: list[str | BaseException] = [await self.first.cluster_id(caller)]
        else:
            ids = (each.cluster_id(caller) for each in links)
            found = await asyncio.gather(*ids, return_exceptions=True)
        for link, answer in zip(links, found, strict=True):
            if answer == cluster_id:
                return link
            if isinstance(answer, BaseException) and not isinstance(answer, OttlaError):
                raise answer
        shown = ", ".join(str(each) for each in found if isinstance(each, str)) or "none answers"
        raise HttpError(404, f"there is no cluster {cluster_id[:100]} here; there is {shown}")

    async def close(self) -> None:
        """Close the clients of all clusters."""
        await asyncio.gather(*(each.close() for each in self))
