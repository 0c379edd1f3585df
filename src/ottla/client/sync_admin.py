"""`SyncAdmin`: the admin client for code that waits."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from ottla.client.admin import Admin
from ottla.client.administration.access import Access
from ottla.client.administration.brokers import Brokers
from ottla.client.administration.configs import Configs
from ottla.client.administration.credentials import Credentials
from ottla.client.administration.group_offsets import GroupOffsets
from ottla.client.administration.groups import Groups
from ottla.client.administration.offsets import Offsets
from ottla.client.administration.placement import Placement
from ottla.client.administration.quotas import Quotas
from ottla.client.administration.replicas import Replicas
from ottla.client.administration.sinks import Sinks
from ottla.client.administration.topics import Topics
from ottla.client.administration.transactions import Transactions
from ottla.client.sync import LoopThread, blocking


class SyncAdmin:
    """An admin client without async: `with ottla.Admin(bootstrap_servers="localhost:9092") as admin`.

    Settings have Kafka's names, in a mapping or as keyword arguments with _ for a dot. Its methods are those of
    `AsyncAdmin`; it may be used from several threads.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self.twin = Admin(settings, **named)
        self.thread = LoopThread("ottla-admin")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ("thread", "twin")]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread."""
        if not self.thread.stopped:
            self.thread.run(self.twin.close())
            self.thread.stop()

    list_topics = blocking(Topics.list_topics)
    describe_topics = blocking(Topics.describe_topics)
    create_topics = blocking(Topics.create_topics)
    try_to_create_topics = blocking(Topics.try_to_create_topics)
    delete_topics = blocking(Topics.delete_topics)
    create_partitions = blocking(Topics.create_partitions)
    describe_configs = blocking(Configs.describe_configs)
    alter_configs = blocking(Configs.alter_configs)
    list_config_resources = blocking(Configs.list_config_resources)
    list_offsets = blocking(Offsets.list_offsets)
    delete_records = blocking(Offsets.delete_records)
    describe_cluster = blocking(Brokers.describe_cluster)
    api_versions = blocking(Brokers.api_versions)
    describe_log_dirs = blocking(Brokers.describe_log_dirs)
    alter_replica_log_dirs = blocking(Brokers.alter_replica_log_dirs)
    update_features = blocking(Brokers.update_features)
    unregister_broker = blocking(Brokers.unregister_broker)
    elect_leaders = blocking(Placement.elect_leaders)
    alter_partition_reassignments = blocking(Placement.alter_partition_reassignments)
    list_partition_reassignments = blocking(Placement.list_partition_reassignments)
    list_groups = blocking(Groups.list_groups)
    describe_groups = blocking(Groups.describe_groups)
    delete_groups = blocking(Groups.delete_groups)
    remove_members = blocking(Groups.remove_members)
    list_group_offsets = blocking(GroupOffsets.list_group_offsets)
    alter_group_offsets = blocking(GroupOffsets.alter_group_offsets)
    delete_group_offsets = blocking(GroupOffsets.delete_group_offsets)
    list_transactions = blocking(Transactions.list_transactions)
    describe_transactions = blocking(Transactions.describe_transactions)
    describe_producers = blocking(Transactions.describe_producers)
    abort_transaction = blocking(Transactions.abort_transaction)
    fence_producers = blocking(Transactions.fence_producers)
    describe_replicas = blocking(Replicas.describe_replicas)
    list_sinks = blocking(Sinks.list_sinks)
    describe_sinks = blocking(Sinks.describe_sinks)
    abort_sink = blocking(Sinks.abort_sink)
    reset_sink = blocking(Sinks.reset_sink)
    describe_acls = blocking(Access.describe_acls)
    create_acls = blocking(Access.create_acls)
    delete_acls = blocking(Access.delete_acls)
    describe_client_quotas = blocking(Quotas.describe_client_quotas)
    alter_client_quotas = blocking(Quotas.alter_client_quotas)
    describe_user_scram_credentials = blocking(Credentials.describe_user_scram_credentials)
    alter_user_scram_credentials = blocking(Credentials.alter_user_scram_credentials)
