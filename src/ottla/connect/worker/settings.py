"""Pure: the settings of a worker, under Kafka Connect's names."""

from __future__ import annotations

from ottla.connect.options.table import (
    Importance,
    Kind,
    Option,
    Options,
    at_least,
    non_empty,
    one_of,
)

_HIGH = Importance.HIGH


def _text(name: str, default: str, doc: str) -> Option:
    return Option(
        name=name, kind=Kind.STRING, default=default, importance=_HIGH, check=non_empty, doc=doc
    )


WORKER = Options(
    (
        _text("bootstrap.servers", "localhost:9092", "Brokers to ask first."),
        _text("group.id", "connect-cluster", "Workers of one group share its connectors."),
        _text("config.storage.topic", "connect-configs", "The topic of configurations."),
        _text("offset.storage.topic", "connect-offsets", "The topic of the offsets of sources."),
        _text("status.storage.topic", "connect-status", "The topic of status."),
        Option(
            name="offset.storage.partitions",
            kind=Kind.INT,
            default=25,
            check=at_least(1),
            doc="Partitions of the offsets topic where it has to be made.",
        ),
        Option(
            name="status.storage.partitions",
            kind=Kind.INT,
            default=5,
            check=at_least(1),
            doc="Partitions of the status topic where it has to be made.",
        ),
        *(
            Option(
                name=f"{which}.storage.replication.factor",
                kind=Kind.SHORT,
                default=-1,
                doc=f"Replicas of the {which} topic where it has to be made; -1 leaves it to the broker.",
            )
            for which in ("config", "offset", "status")
        ),
        _text(
            "key.converter", "string", "How keys of records become bytes, unless a connector says."
        ),
        _text(
            "value.converter",
            "json",
            "How values of records become bytes, unless a connector says.",
        ),
        _text("header.converter", "string", "How headers become bytes, unless a connector says."),
        Option(
            name="listeners",
            kind=Kind.LIST,
            default=["http://127.0.0.1:8083"],
            importance=_HIGH,
            doc="Where the REST API listens.",
        ),
        Option(
            name="anonymous",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether anybody who reaches a listener that is not on loopback may change connectors.",
        ),
        Option(
            name="file.roots",
            kind=Kind.LIST,
            default=["."],
            doc="Directories that file connectors may touch.",
        ),
        Option(
            name="spark.master",
            kind=Kind.STRING,
            default="local[2]",
            doc="The Spark cluster that connectors run on.",
        ),
        Option(
            name="offset.flush.interval.ms",
            kind=Kind.LONG,
            default=1000,
            check=at_least(1),
            doc="How often a connector looks for something to move.",
        ),
        Option(
            name="connector.client.config.override.policy",
            kind=Kind.STRING,
            default="All",
            check=one_of("All", "None", "Principal"),
            doc="Kept for Kafka's property files.",
        ),
    )
)
IGNORED = frozenset(("plugin.path", "rest.advertised.host.name", "rest.port"))
