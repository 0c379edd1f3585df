"""THE table of APIs served: ApiVersions, the docs and the metrics derive from it, and nothing else registers an API."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ottla.base.metrics import Distribution, Value
from ottla.broker import metrics
from ottla.protocol.api_keys import ApiKey


class Api:
    """One row: an API, and the versions served; its handler is the module of the same name in `handlers`.

    That module is imported when the API is first asked for, or loaded before: a broker that has just started knows
    what it serves, and has read nothing of how.

    A raw handler takes the frame and gives back the reply; any other takes a request and gives back a response. What is
    `between_brokers` is not advertised, and served only to those who have introduced themselves (BrokerHello). What
    is done `by_controller` is passed on to it, whichever broker a client asks.
    """

    __slots__ = (
        "advertised_min_version",
        "between_brokers",
        "by_controller",
        "duration",
        "handle",
        "key",
        "max_version",
        "min_version",
        "name",
        "raw",
        "requests",
    )

    def __init__(
        self,
        key: ApiKey,
        versions: tuple[int, int],
        handle: Callable[..., Any] | None = None,
        *,
        raw: bool = False,
        advertised_from: int | None = None,
        between_brokers: bool = False,
        by_controller: bool = False,
    ) -> None:
        self.key = key
        self.name = key.api_name
        self.min_version, self.max_version = versions
        self.advertised_min_version = (
            self.min_version if advertised_from is None else advertised_from
        )
        self.handle = self._load_and_handle if handle is None else handle
        self.raw = raw
        self.between_brokers = between_brokers
        self.by_controller = by_controller
        self.requests: Value = metrics.REQUESTS.labels(api=self.name)
        self.duration: Distribution = metrics.REQUEST_SECONDS.labels(api=self.name)

    def load(self) -> None:
        """Import the handler, with the messages it speaks; once is enough."""
        if self.handle == self._load_and_handle:
            module = import_module(f"ottla.broker.handlers.{self.key.name.lower()}")
            self.handle = module.handle

    def _load_and_handle(self, *request: Any) -> Any:
        self.load()
        return self.handle(*request)


APIS: Final[tuple[Api, ...]] = (
    # Advertised from 0 although nothing below 3 is served, as Kafka does: older librdkafka takes a higher minimum to
    # mean that the broker knows no compression (KAFKA-18659).
    Api(ApiKey.PRODUCE, (3, 13), raw=True, advertised_from=0),
    Api(ApiKey.FETCH, (4, 18), raw=True),
    Api(ApiKey.LIST_OFFSETS, (1, 11)),
    Api(ApiKey.METADATA, (0, 13), raw=True),
    Api(ApiKey.OFFSET_COMMIT, (2, 10), raw=True),
    Api(ApiKey.OFFSET_FETCH, (1, 10)),
    Api(ApiKey.FIND_COORDINATOR, (0, 6)),
    Api(ApiKey.JOIN_GROUP, (0, 9)),
    Api(ApiKey.HEARTBEAT, (0, 4)),
    Api(ApiKey.LEAVE_GROUP, (0, 5)),
    Api(ApiKey.SYNC_GROUP, (0, 5)),
    Api(ApiKey.DESCRIBE_GROUPS, (0, 6)),
    Api(ApiKey.LIST_GROUPS, (0, 5)),
    Api(ApiKey.API_VERSIONS, (0, 4)),
    Api(ApiKey.CREATE_TOPICS, (2, 7), by_controller=True),
    Api(ApiKey.DELETE_TOPICS, (1, 6), by_controller=True),
    Api(ApiKey.DELETE_RECORDS, (0, 2)),
    Api(ApiKey.INIT_PRODUCER_ID, (0, 5)),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, (2, 4)),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, (0, 5), raw=True),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, (0, 4)),
    Api(ApiKey.END_TXN, (0, 5), raw=True),
    Api(ApiKey.WRITE_TXN_MARKERS, (1, 2)),
    Api(ApiKey.TXN_OFFSET_COMMIT, (0, 5)),
    Api(ApiKey.DESCRIBE_CONFIGS, (1, 4)),
    Api(ApiKey.ALTER_CONFIGS, (0, 2), by_controller=True),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, (1, 2)),
    Api(ApiKey.DESCRIBE_LOG_DIRS, (1, 5)),
    Api(ApiKey.CREATE_PARTITIONS, (0, 3), by_controller=True),
    Api(ApiKey.DELETE_GROUPS, (0, 2)),
    Api(ApiKey.ELECT_LEADERS, (0, 2), by_controller=True),
    Api(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        (0, 1),
        by_controller=True,
    ),
    Api(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        (0, 1),
        by_controller=True,
    ),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, (0, 0)),
    Api(ApiKey.OFFSET_DELETE, (0, 0)),
    Api(ApiKey.ALTER_PARTITION, (2, 3), between_brokers=True),
    Api(ApiKey.UPDATE_FEATURES, (0, 2)),
    Api(ApiKey.DESCRIBE_CLUSTER, (0, 2)),
    Api(ApiKey.DESCRIBE_PRODUCERS, (0, 0)),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, (0, 0)),
    Api(ApiKey.LIST_TRANSACTIONS, (0, 2)),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1)),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, (0, 1)),
    Api(ApiKey.LIST_CONFIG_RESOURCES, (0, 1)),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, (0, 0)),
    Api(ApiKey.BROKER_HELLO, (0, 0)),
    Api(ApiKey.BROKER_SHUTDOWN, (0, 0), between_brokers=True),
    Api(ApiKey.REPLICA_ENDS, (0, 0), between_brokers=True),
    Api(ApiKey.DESCRIBE_GROUP_HISTORY, (0, 0)),
    Api(ApiKey.DESCRIBE_REPLICAS, (0, 0), by_controller=True),
    Api(ApiKey.OPEN_SINK, (0, 0)),
    Api(ApiKey.OPEN_SINK_SLOT, (0, 0)),
    Api(ApiKey.COMMIT_TXN_GROUP, (0, 0)),
    Api(ApiKey.ABORT_TXN_GROUP, (0, 0)),
    Api(ApiKey.DESCRIBE_SINKS, (0, 0)),
    Api(ApiKey.RESET_SINK, (0, 0)),
)
"""In the order of their keys."""

ADVERTISED: Final = tuple(api for api in APIS if not (api.between_brokers or api.key.is_own))
"""What clients are told of; the brokers of a cluster know of the rest by themselves."""

OWN: Final = tuple(api for api in APIS if api.key.is_own and not api.between_brokers)
"""What only clients of ottla are told of: no client of Kafka sees a key that it does not know."""

APIS_BY_KEY: Final[dict[int, Api]] = {int(api.key): api for api in APIS}
