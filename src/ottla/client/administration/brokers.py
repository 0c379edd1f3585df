"""Brokers and the cluster they form: who they are, what they speak, what lies on their disks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, Outcome, by_topic, outcome
from ottla.client.errors import check
from ottla.client.view import NOT_TOLD
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.apis.describe_cluster import DescribeClusterRequest
from ottla.protocol.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from ottla.protocol.apis.unregister_broker import UnregisterBrokerRequest
from ottla.protocol.apis.update_features import FeatureUpdateKey, UpdateFeaturesRequest


class UpgradeType(IntEnum):
    """How the level of a feature may move."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class BrokerDescription(NamedTuple):
    """A broker; a fenced one is registered but serves nobody."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class ClusterDescription(NamedTuple):
    """A cluster with its brokers in the order of their ids."""

    cluster_id: str | None
    controller_id: int
    brokers: tuple[BrokerDescription, ...]
    authorized_operations: int = NOT_TOLD


class ServedVersions(NamedTuple):
    """What one broker speaks: the lowest and highest version by the number of the API."""

    versions: Mapping[int, tuple[int, int]]
    supported_features: Mapping[str, tuple[int, int]]
    finalized_features: Mapping[str, tuple[int, int]]
    finalized_features_epoch: int


class ReplicaInLogDir(NamedTuple):
    """A replica on a disk; a future one is on its way from another directory."""

    size_bytes: int
    offset_lag: int
    future: bool


class LogDir(NamedTuple):
    """A log directory; sizes are -1 where the broker does not tell them."""

    replicas: Mapping[TopicPartition, ReplicaInLogDir]
    total_bytes: int
    usable_bytes: int
    cordoned: bool


class Brokers(Administration):
    """Administration of brokers."""

    async def describe_cluster(
        self, *, include_fenced: bool = False, include_authorized_operations: bool = False
    ) -> ClusterDescription:
        """The cluster, its controller and its brokers."""
        connection = await self.cluster.retried(self.cluster.connection)
        if not connection.serves(ApiKey.DESCRIBE_CLUSTER):
            view = await self.cluster.retried(self.cluster.refresh)
            brokers = [BrokerDescription(*node) for _, node in sorted(view.brokers.items())]
            return ClusterDescription(view.cluster_id, view.controller_id, tuple(brokers))
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=include_authorized_operations,
            include_fenced_brokers=include_fenced,
        )
        found = await self.ask_any(request)
        check(found.error_code, found.error_message)
        brokers = [
            BrokerDescription(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
            for each in found.brokers
        ]
        operations = found.cluster_authorized_operations
        return ClusterDescription(
            found.cluster_id, found.controller_id, tuple(sorted(brokers)), operations
        )

    async def api_versions(self, node_id: int | None = None) -> ServedVersions:
        """What a broker speaks, or any broker."""
        connection = await self.cluster.retried(lambda: self.cluster.connection(node_id))
        told = connection.api_versions
        return ServedVersions(
            dict(sorted(connection.versions.items())),
            {each.name: (each.min_version, each.max_version) for each in told.supported_features},
            {
                each.name: (each.min_version_level, each.max_version_level)
                for each in told.finalized_features
            },
            told.finalized_features_epoch,
        )

    async def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[int, dict[str, Outcome[LogDir]]]:
        """What lies in each log directory of brokers, by its path."""
        topics = None
        if partitions is not None:
            topics = [
                DescribableLogDirTopic(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(partitions).items()
            ]
        answers = await self.ask_brokers(DescribeLogDirsRequest(topics=topics), brokers)
        return {broker: _log_dirs(answer) for broker, answer in answers.items()}

    async def alter_replica_log_dirs(
        self, broker_id: int, moves: Mapping[TopicPartition, str]
    ) -> dict[TopicPartition, Outcome[None]]:
        """Move replicas of one broker into other directories, named by their paths."""
        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in moves.items():
            by_path.setdefault(path, []).append(partition)
        dirs = [
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                    for topic, numbers in by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]
        response = await self.ask_any(AlterReplicaLogDirsRequest(dirs=dirs), node_id=broker_id)
        return {
            TopicPartition(topic.topic_name, each.partition_index): outcome(
                each.error_code, None, None
            )
            for topic in response.results
            for each in topic.partitions
        }

    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        upgrade_type: int = UpgradeType.UPGRADE,
        validate_only: bool = False,
    ) -> None:
        """Set the levels of features, all or none."""
        request = UpdateFeaturesRequest(
            timeout_ms=self.timeout_ms,
            feature_updates=[
                FeatureUpdateKey(
                    feature=feature,
                    max_version_level=level,
                    allow_downgrade=upgrade_type != UpgradeType.UPGRADE,
                    upgrade_type=upgrade_type,
                )
                for feature, level in levels.items()
            ],
            validate_only=validate_only,
        )
        response = await self.cluster.ask_controller(request)
        check(response.error_code, response.error_message)
        for result in response.results:
            check(result.error_code, result.error_message)

    async def unregister_broker(self, broker_id: int) -> None:
        """Forget a broker that will not come back."""
        response = await self.cluster.ask_controller(UnregisterBrokerRequest(broker_id=broker_id))
        check(response.error_code, response.error_message)


def _log_dirs(response: DescribeLogDirsResponse) -> dict[str, Outcome[LogDir]]:
    check(response.error_code)
    return {
        found.log_dir: outcome(found.error_code, None, _log_dir(found))
        for found in response.results
    }


def _log_dir(found: DescribeLogDirsResult) -> LogDir:
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInLogDir(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in found.topics
        for each in topic.partitions
    }
    return LogDir(replicas, found.total_bytes, found.usable_bytes, found.is_cordoned)
