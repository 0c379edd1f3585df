"""Pure: GroupsConfig, how consumer groups and their committed offsets are kept."""

from dataclasses import dataclass

from ottla.base.units import INT_MAX, MINUTE_MS, SECOND_MS, KiB, MiB
from ottla.config.kinds import Int, ListOf, Long, OneOf, Short
from ottla.config.setting import Scope, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsConfig:
    """Members, sessions and offsets of all groups."""

    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms",
        6 * SECOND_MS,
        Int(0),
        doc="Refuses members of classic groups that ask for a shorter session than this.",
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms",
        30 * MINUTE_MS,
        Int(0),
        doc="Refuses members of classic groups that ask for a longer session than this.",
    )
    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        3 * SECOND_MS,
        Int(0),
        doc="Lets an empty classic group wait this long, at least 2 ms, for more members before its first rebalance.",
    )
    group_max_size: int = setting(
        "group.max.size",
        INT_MAX,
        Int(1),
        doc="Lets at most this many members into a classic group.",
    )
    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions",
        50,
        Int(1),
        importance="high",
        doc="Gives __consumer_offsets this many partitions when it is made; they must not change afterwards.",
    )
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor",
        3,
        Short(1),
        importance="high",
        doc="Gives __consumer_offsets this many replicas, or as many as there are brokers.",
    )
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes",
        100 * MiB,
        Int(1),
        importance="high",
        doc="Keeps the segments of __consumer_offsets this small, so that they compact and load fast.",
    )
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes",
        4 * KiB,
        Int(0),
        importance="high",
        doc="Refuses to commit an offset with more text than this beside it.",
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes",
        7 * 24 * 60,
        Int(1),
        importance="high",
        doc="Forgets committed offsets this long after their group became empty or they were committed last.",
    )
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms",
        10 * MINUTE_MS,
        Long(1),
        importance="high",
        doc="Looks for offsets and groups to forget this often.",
    )
    group_consumer_session_timeout_ms: int = setting(
        "group.consumer.session.timeout.ms",
        45 * SECOND_MS,
        Int(1),
        doc="Removes a member of a consumer group that was silent for this long.",
    )
    group_consumer_min_session_timeout_ms: int = setting(
        "group.consumer.min.session.timeout.ms",
        45 * SECOND_MS,
        Int(1),
        doc="Bounds the session of consumer groups from below.",
    )
    group_consumer_max_session_timeout_ms: int = setting(
        "group.consumer.max.session.timeout.ms",
        MINUTE_MS,
        Int(1),
        doc="Bounds the session of consumer groups from above.",
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        "group.consumer.heartbeat.interval.ms",
        5 * SECOND_MS,
        Int(1),
        doc="Tells members of consumer groups to report this often.",
    )
    group_consumer_min_heartbeat_interval_ms: int = setting(
        "group.consumer.min.heartbeat.interval.ms",
        5 * SECOND_MS,
        Int(1),
        doc="Bounds the heartbeat interval of consumer groups from below.",
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        "group.consumer.max.heartbeat.interval.ms",
        15 * SECOND_MS,
        Int(1),
        doc="Bounds the heartbeat interval of consumer groups from above.",
    )
    group_consumer_assignment_interval_ms: int = setting(
        "group.consumer.assignment.interval.ms",
        0,
        Int(0),
        scope=Scope.CLUSTER_WIDE,
        doc="Assigns the partitions of a consumer group anew no sooner than this after the last time.",
    )
    group_consumer_min_assignment_interval_ms: int = setting(
        "group.consumer.min.assignment.interval.ms",
        0,
        Int(0),
        doc="Bounds the assignment interval that a consumer group asks for from below.",
    )
    group_consumer_max_assignment_interval_ms: int = setting(
        "group.consumer.max.assignment.interval.ms",
        15 * SECOND_MS,
        Int(0),
        doc="Bounds the assignment interval of consumer groups from above.",
    )
    group_consumer_max_size: int = setting(
        "group.consumer.max.size",
        INT_MAX,
        Int(1),
        doc="Lets at most this many members into a consumer group.",
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        "group.consumer.assignors",
        ("uniform", "range"),
        ListOf("uniform", "range", empty=False),
        doc="Lists the assignors of consumer groups; the first is for members that ask for none.",
    )
    group_consumer_migration_policy: str = setting(
        "group.consumer.migration.policy",
        "bidirectional",
        OneOf("disabled", "downgrade", "upgrade", "bidirectional"),
        doc="Says which way a group may change between the classic and the consumer protocol.",
    )
