"""Pure: the APIs that a broker of Kafka 4.3 may be asked for, and those that are ottla's own.

Each row: key, first and last version, first flexible version.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

NEVER = 0x7FFF
FIRST_OWN = 10_000


class ApiKey(IntEnum):
    """An API, by the number that a request names it with.

    The versions are those of the schemas. What a broker serves of them is the broker's table.
    """

    first_version: int
    last_version: int
    flexible_since: int
    """The first version with compact lengths and tagged fields (KIP-482)."""

    if not TYPE_CHECKING:

        def __new__(cls, key: int, first: int, last: int, flexible_since: int) -> ApiKey:
            member = int.__new__(cls, key)
            member._value_ = key
            member.first_version = first
            member.last_version = last
            member.flexible_since = flexible_since
            return member

    @property
    def api_name(self) -> str:
        """Kafka's name of the API, such as ListOffsets."""
        return self.name.title().replace("_", "")

    @property
    def is_own(self) -> bool:
        """Whether Kafka knows no such API."""
        return self >= FIRST_OWN

    PRODUCE = 0, 3, 13, 9
    FETCH = 1, 4, 18, 12
    LIST_OFFSETS = 2, 1, 11, 6
    METADATA = 3, 0, 13, 9
    OFFSET_COMMIT = 8, 2, 10, 8
    OFFSET_FETCH = 9, 1, 10, 6
    FIND_COORDINATOR = 10, 0, 6, 3
    JOIN_GROUP = 11, 0, 9, 6
    HEARTBEAT = 12, 0, 4, 4
    LEAVE_GROUP = 13, 0, 5, 4
    SYNC_GROUP = 14, 0, 5, 4
    DESCRIBE_GROUPS = 15, 0, 6, 5
    LIST_GROUPS = 16, 0, 5, 3
    SASL_HANDSHAKE = 17, 0, 1, NEVER
    API_VERSIONS = 18, 0, 4, 3
    CREATE_TOPICS = 19, 2, 7, 5
    DELETE_TOPICS = 20, 1, 6, 4
    DELETE_RECORDS = 21, 0, 2, 2
    INIT_PRODUCER_ID = 22, 0, 5, 2  # v6 is not stable in Kafka 4.3 (KIP-939)
    OFFSET_FOR_LEADER_EPOCH = 23, 2, 4, 4
    ADD_PARTITIONS_TO_TXN = 24, 0, 5, 3
    ADD_OFFSETS_TO_TXN = 25, 0, 4, 3
    END_TXN = 26, 0, 5, 3
    WRITE_TXN_MARKERS = 27, 1, 2, 1
    TXN_OFFSET_COMMIT = 28, 0, 5, 3
    DESCRIBE_ACLS = 29, 1, 3, 2
    CREATE_ACLS = 30, 1, 3, 2
    DELETE_ACLS = 31, 1, 3, 2
    DESCRIBE_CONFIGS = 32, 1, 4, 4
    ALTER_CONFIGS = 33, 0, 2, 2
    ALTER_REPLICA_LOG_DIRS = 34, 1, 2, 2
    DESCRIBE_LOG_DIRS = 35, 1, 5, 2
    SASL_AUTHENTICATE = 36, 0, 2, 2
    CREATE_PARTITIONS = 37, 0, 3, 2
    CREATE_DELEGATION_TOKEN = 38, 1, 3, 2
    RENEW_DELEGATION_TOKEN = 39, 1, 2, 2
    EXPIRE_DELEGATION_TOKEN = 40, 1, 2, 2
    DESCRIBE_DELEGATION_TOKEN = 41, 1, 3, 2
    DELETE_GROUPS = 42, 0, 2, 2
    ELECT_LEADERS = 43, 0, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 0, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, 1, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0, 0
    OFFSET_DELETE = 47, 0, 0, NEVER
    DESCRIBE_CLIENT_QUOTAS = 48, 0, 1, 1
    ALTER_CLIENT_QUOTAS = 49, 0, 1, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0, 0, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, 0, 0
    DESCRIBE_QUORUM = 55, 0, 2, 0
    ALTER_PARTITION = 56, 2, 3, 0
    UPDATE_FEATURES = 57, 0, 2, 0
    DESCRIBE_CLUSTER = 60, 0, 2, 0
    DESCRIBE_PRODUCERS = 61, 0, 0, 0
    UNREGISTER_BROKER = 64, 0, 0, 0
    DESCRIBE_TRANSACTIONS = 65, 0, 0, 0
    LIST_TRANSACTIONS = 66, 0, 2, 0
    CONSUMER_GROUP_HEARTBEAT = 68, 0, 1, 0
    CONSUMER_GROUP_DESCRIBE = 69, 0, 1, 0
    GET_TELEMETRY_SUBSCRIPTIONS = 71, 0, 0, 0
    PUSH_TELEMETRY = 72, 0, 0, 0
    LIST_CONFIG_RESOURCES = 74, 0, 1, 0
    DESCRIBE_TOPIC_PARTITIONS = 75, 0, 0, 0
    SHARE_GROUP_HEARTBEAT = 76, 1, 1, 0
    SHARE_GROUP_DESCRIBE = 77, 1, 1, 0
    SHARE_FETCH = 78, 1, 2, 0
    SHARE_ACKNOWLEDGE = 79, 1, 2, 0
    ADD_RAFT_VOTER = 80, 0, 1, 0
    REMOVE_RAFT_VOTER = 81, 0, 0, 0
    INITIALIZE_SHARE_GROUP_STATE = 83, 0, 0, 0
    READ_SHARE_GROUP_STATE = 84, 0, 0, 0
    WRITE_SHARE_GROUP_STATE = 85, 0, 1, 0
    DELETE_SHARE_GROUP_STATE = 86, 0, 0, 0
    READ_SHARE_GROUP_STATE_SUMMARY = 87, 0, 1, 0
    STREAMS_GROUP_HEARTBEAT = 88, 0, 0, 0
    STREAMS_GROUP_DESCRIBE = 89, 0, 0, 0
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, 0, 1, 0
    ALTER_SHARE_GROUP_OFFSETS = 91, 0, 0, 0
    DELETE_SHARE_GROUP_OFFSETS = 92, 0, 0, 0

    # ottla's own, far from any that Kafka may come to use.
    BROKER_HELLO = 10_000, 0, 0, 0
    BROKER_SHUTDOWN = 10_001, 0, 0, 0
    REPLICA_ENDS = 10_002, 0, 0, 0
    DESCRIBE_GROUP_HISTORY = 10_100, 0, 0, 0
    DESCRIBE_REPLICAS = 10_101, 0, 0, 0
    OPEN_SINK = 10_110, 0, 0, 0
    OPEN_SINK_SLOT = 10_111, 0, 0, 0
    COMMIT_TXN_GROUP = 10_112, 0, 0, 0
    ABORT_TXN_GROUP = 10_113, 0, 0, 0
    DESCRIBE_SINKS = 10_114, 0, 0, 0
    RESET_SINK = 10_115, 0, 0, 0
