"""What handlers share: settings, clusters, the audit, consumer instances, samples."""

from __future__ import annotations

import time

from ottla.http.clusters.table import Clusters
from ottla.http.rest.v2.instances import Instances
from ottla.http.sampling.samples import Sampler
from ottla.http.server.audit import Audit
from ottla.http.settings import HttpSettings


class Services:
    """Everything that lives as long as the process."""

    def __init__(self, settings: HttpSettings) -> None:
        self.settings = settings
        self.clusters = Clusters(settings)
        self.audit = Audit()
        self.instances = Instances(settings)
        self.sampler = Sampler(self.clusters, settings)
        self.started_at = time.time()

    def start(self) -> None:
        """Begin what runs beside the requests."""
        self.instances.start()
        self.sampler.start()

    async def close(self) -> None:
        """End it, and close all connections."""
        await self.sampler.close()
        await self.instances.close()
        await self.clusters.close()
