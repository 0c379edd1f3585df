"""Pure: ReplicationConfig, how brokers copy partitions from one another and hand them over."""

from dataclasses import dataclass

from ottla.base.units import LONG_MAX, KiB, MiB
from ottla.config.kinds import Bool, Int, Long, OptionalText
from ottla.config.setting import Scope, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationConfig:
    """How followers fetch, when they count as in sync, and what happens to leaders."""

    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms",
        30_000,
        Long(1),
        importance="high",
        doc="Removes a follower from the in-sync replicas when it has not been caught up for so long.",
    )
    replica_fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms",
        500,
        Int(0),
        importance="high",
        doc="Lets a follower's fetch wait so long for records; less than replica.lag.time.max.ms.",
    )
    replica_fetch_min_bytes: int = setting(
        "replica.fetch.min.bytes",
        1,
        Int(0),
        importance="high",
        doc="Answers a follower's fetch when so much has come.",
    )
    replica_fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes",
        1 * MiB,
        Int(0),
        doc="Fetches so much of one partition at a time; a larger batch is fetched all the same.",
    )
    replica_fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes",
        10 * MiB,
        Int(1 * KiB),
        doc="Fetches so much from one leader at a time.",
    )
    replica_fetch_backoff_ms: int = setting(
        "replica.fetch.backoff.ms",
        1_000,
        Int(0),
        doc="Leaves a partition whose fetch failed alone for at most so long.",
    )
    replica_socket_timeout_ms: int = setting(
        "replica.socket.timeout.ms",
        30_000,
        Int(1),
        importance="high",
        doc="Gives up on another broker that does not answer for so long.",
    )
    leader_replication_throttled_rate: int = setting(
        "leader.replication.throttled.rate",
        LONG_MAX,
        Long(0),
        scope=Scope.PER_BROKER,
        doc="Sends replicas that catch up, where their topic says so, at most so many bytes a second.",
    )
    follower_replication_throttled_rate: int = setting(
        "follower.replication.throttled.rate",
        LONG_MAX,
        Long(0),
        scope=Scope.PER_BROKER,
        doc="Fetches for replicas that catch up, where their topic says so, at most so many bytes a second.",
    )
    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name",
        None,
        OptionalText(),
        doc="Names the listener that brokers use among themselves; the first one unless it is given.",
    )
    controlled_shutdown_enable: bool = setting(
        "controlled.shutdown.enable",
        True,
        Bool(),
        doc="Hands over all that a broker leads before it stops.",
    )
    auto_leader_rebalance_enable: bool = setting(
        "auto.leader.rebalance.enable",
        True,
        Bool(),
        importance="high",
        doc="Gives partitions back to their preferred leaders by itself.",
    )
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds",
        300,
        Long(1),
        importance="high",
        doc="Looks so often for partitions that are not led by their preferred leader.",
    )
    replica_selector_class: str | None = setting(
        "replica.selector.class",
        None,
        OptionalText(),
        doc="Lets consumers read from a replica in their own rack, if it names RackAwareReplicaSelector.",
    )
