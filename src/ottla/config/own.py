"""Pure: OwnConfig, settings that Kafka does not have; their names begin with `ottla.`."""

from dataclasses import dataclass

from ottla.config.kinds import OneOf
from ottla.config.listeners import (
    BESIDE_THE_BROKER,
    Address,
    AddressBesideBroker,
    OptionalAddress,
)
from ottla.config.setting import Scope, Synonym, setting

PREFIX = "ottla."

HTTP_LISTENER = Synonym(
    "ottla.http.listener",
    None,
    OptionalAddress(),
    lambda address: address,
    "The name of ottla.metrics.listener before version 0.1.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConfig:
    """What is ottla's own."""

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
        scope=Scope.CLUSTER_WIDE,
        importance="low",
        doc="Leaves out of the broker's own log whatever is below this level.",
    )
    metrics_listener: Address | None = setting(  # noqa: RUF009 - it declares a field
        "ottla.metrics.listener",
        BESIDE_THE_BROKER,
        AddressBesideBroker(),
        synonyms=(HTTP_LISTENER,),
        doc="Serves /metrics and /health at this host:port; auto takes 127.0.0.1 and the broker's port plus 100, "
        "or a free one if that is taken; empty serves neither.",
    )
    produce_validation: str = setting(
        "ottla.produce.validation",
        "headers",
        OneOf("headers", "deep"),
        doc="Checks the header of each produced batch, or every record within it as well.",
    )
