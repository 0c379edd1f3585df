"""THE table of APIs served: ApiVersions, the docs and the metrics derive from it, and nothing else registers an API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ottla.base.metrics import Distribution, Value
from ottla.broker import metrics
from ottla.broker.context import RequestContext
from ottla.broker.handlers import (
    abort_txn_group,
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    api_versions,
    broker_hello,
    broker_shutdown,
    commit_txn_group,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_group_history,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_sinks,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    open_sink,
    open_sink_slot,
    produce,
    replica_ends,
    reset_sink,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse


class Api:
    """One row: an API, the versions served, and its handler.

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
        handle: Callable[..., Any],
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
        self.handle = handle
        self.raw = raw
        self.between_brokers = between_brokers
        self.by_controller = by_controller
        self.requests: Value = metrics.REQUESTS.labels(api=self.name)
        self.duration: Distribution = metrics.REQUEST_SECONDS.labels(api=self.name)


def _api_versions(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    return api_versions.handle(context, request, ADVERTISED, OWN)


APIS: Final[tuple[Api, ...]] = (
    # Advertised from 0 although nothing below 3 is served, as Kafka does: older librdkafka takes a higher minimum to
    # mean that the broker knows no compression (KAFKA-18659).
    Api(ApiKey.PRODUCE, (3, 13), produce.handle, raw=True, advertised_from=0),
    Api(ApiKey.FETCH, (4, 18), fetch.handle, raw=True),
    Api(ApiKey.LIST_OFFSETS, (1, 11), list_offsets.handle),
    Api(ApiKey.METADATA, (0, 13), metadata.handle, raw=True),
    Api(ApiKey.OFFSET_COMMIT, (2, 10), offset_commit.handle, raw=True),
    Api(ApiKey.OFFSET_FETCH, (1, 10), offset_fetch.handle),
    Api(ApiKey.FIND_COORDINATOR, (0, 6), find_coordinator.handle),
    Api(ApiKey.JOIN_GROUP, (0, 9), join_group.handle),
    Api(ApiKey.HEARTBEAT, (0, 4), heartbeat.handle),
    Api(ApiKey.LEAVE_GROUP, (0, 5), leave_group.handle),
    Api(ApiKey.SYNC_GROUP, (0, 5), sync_group.handle),
    Api(ApiKey.DESCRIBE_GROUPS, (0, 6), describe_groups.handle),
    Api(ApiKey.LIST_GROUPS, (0, 5), list_groups.handle),
    Api(ApiKey.API_VERSIONS, (0, 4), _api_versions),
    Api(ApiKey.CREATE_TOPICS, (2, 7), create_topics.handle, by_controller=True),
    Api(ApiKey.DELETE_TOPICS, (1, 6), delete_topics.handle, by_controller=True),
    Api(ApiKey.DELETE_RECORDS, (0, 2), delete_records.handle),
    Api(ApiKey.INIT_PRODUCER_ID, (0, 5), init_producer_id.handle),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, (2, 4), offset_for_leader_epoch.handle),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, (0, 5), add_partitions_to_txn.handle),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, (0, 4), add_offsets_to_txn.handle),
    Api(ApiKey.END_TXN, (0, 5), end_txn.handle),
    Api(ApiKey.WRITE_TXN_MARKERS, (1, 2), write_txn_markers.handle),
    Api(ApiKey.TXN_OFFSET_COMMIT, (0, 5), txn_offset_commit.handle),
    Api(ApiKey.DESCRIBE_CONFIGS, (1, 4), describe_configs.handle),
    Api(ApiKey.ALTER_CONFIGS, (0, 2), alter_configs.handle, by_controller=True),
    Api(ApiKey.DESCRIBE_LOG_DIRS, (1, 5), describe_log_dirs.handle),
    Api(ApiKey.CREATE_PARTITIONS, (0, 3), create_partitions.handle, by_controller=True),
    Api(ApiKey.DELETE_GROUPS, (0, 2), delete_groups.handle),
    Api(ApiKey.ELECT_LEADERS, (0, 2), elect_leaders.handle, by_controller=True),
    Api(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        (0, 1),
        incremental_alter_configs.handle,
        by_controller=True,
    ),
    Api(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        (0, 1),
        alter_partition_reassignments.handle,
        by_controller=True,
    ),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, (0, 0), list_partition_reassignments.handle),
    Api(ApiKey.OFFSET_DELETE, (0, 0), offset_delete.handle),
    Api(ApiKey.ALTER_PARTITION, (2, 3), alter_partition.handle, between_brokers=True),
    Api(ApiKey.DESCRIBE_CLUSTER, (0, 2), describe_cluster.handle),
    Api(ApiKey.DESCRIBE_PRODUCERS, (0, 0), describe_producers.handle),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, (0, 0), describe_transactions.handle),
    Api(ApiKey.LIST_TRANSACTIONS, (0, 2), list_transactions.handle),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), consumer_group_heartbeat.handle),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, (0, 1), consumer_group_describe.handle),
    Api(ApiKey.LIST_CONFIG_RESOURCES, (0, 1), list_config_resources.handle),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, (0, 0), describe_topic_partitions.handle),
    Api(ApiKey.BROKER_HELLO, (0, 0), broker_hello.handle),
    Api(ApiKey.BROKER_SHUTDOWN, (0, 0), broker_shutdown.handle, between_brokers=True),
    Api(ApiKey.REPLICA_ENDS, (0, 0), replica_ends.handle, between_brokers=True),
    Api(ApiKey.DESCRIBE_GROUP_HISTORY, (0, 0), describe_group_history.handle),
    Api(ApiKey.OPEN_SINK, (0, 0), open_sink.handle),
    Api(ApiKey.OPEN_SINK_SLOT, (0, 0), open_sink_slot.handle),
    Api(ApiKey.COMMIT_TXN_GROUP, (0, 0), commit_txn_group.handle),
    Api(ApiKey.ABORT_TXN_GROUP, (0, 0), abort_txn_group.handle),
    Api(ApiKey.DESCRIBE_SINKS, (0, 0), describe_sinks.handle),
    Api(ApiKey.RESET_SINK, (0, 0), reset_sink.handle),
)
"""In the order of their keys."""

ADVERTISED: Final = tuple(api for api in APIS if not (api.between_brokers or api.key.is_own))
"""What clients are told of; the brokers of a cluster know of the rest by themselves."""

OWN: Final = tuple(api for api in APIS if api.key.is_own and not api.between_brokers)
"""What only clients of ottla are told of: no client of Kafka sees a key that it does not know."""

APIS_BY_KEY: Final[dict[int, Api]] = {int(api.key): api for api in APIS}
