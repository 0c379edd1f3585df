"""Pure: the settings in force now: what the broker was started with, and what was changed since."""

from collections.abc import Mapping

from ottla.config.dynamic import Overlay
from ottla.config.log import LogConfig
from ottla.config.table import Settings


class LiveSettings:
    """The one place that holds a broker's overlay; everybody reads `now`, nobody keeps a copy of it."""

    __slots__ = (
        "deep_validation",
        "fetch_max_bytes",
        "now",
        "overlay",
        "prefers_closest_replica",
    )

    def __init__(self, settings: Settings) -> None:
        self.update(Overlay(settings))

    def update(self, overlay: Overlay) -> None:
        """Put other dynamic settings in force."""
        self.overlay = overlay
        self.now = overlay.effective()
        # Read for every request, so not through three attributes.
        self.fetch_max_bytes = self.now.server.fetch_max_bytes
        selector = self.now.replication.replica_selector_class or ""
        self.prefers_closest_replica = selector.endswith("RackAwareReplicaSelector")
        self.deep_validation = self.now.ottla.produce_validation == "deep"

    def log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        """How the logs of a topic with these overrides are kept."""
        return LogConfig.resolve(self.now.log, overrides)
