"""Pure: OwnConfig, settings that Kafka does not have; their names begin with `ottla.`."""

from dataclasses import dataclass

from ottla.config.kinds import OneOf
from ottla.config.listeners import Address, OptionalAddress
from ottla.config.setting import setting

PREFIX = "ottla."


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConfig:
    """What is ottla's own."""

    http_listener: Address | None = setting(  # noqa: RUF009 - it declares a field
        "ottla.http.listener",
        None,
        OptionalAddress(),
        doc="Serves /metrics and /health at this host:port; empty serves neither.",
    )
    log_format: str = setting(
        "ottla.log.format",
        "console",
        OneOf("console", "json"),
        importance="low",
        doc="Prints the broker's own log for people or for machines.",
    )
    log_level: str = setting(
        "ottla.log.level",
        "info",
        OneOf("debug", "info", "warning", "error"),
        importance="low",
        doc="Leaves out of the broker's own log whatever is below this level.",
    )
    produce_validation: str = setting(
        "ottla.produce.validation",
        "headers",
        OneOf("headers", "deep"),
        doc="Checks the header of each produced batch, or every record within it as well.",
    )
