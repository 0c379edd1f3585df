"""Pure: the error codes of Kafka 4.3: number, whether trying again may help, and a sentence.

Those from 10,000 on are ottla's own, told only in answer to APIs that are ottla's own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING


class ErrorCode(IntEnum):
    """An error as it is told on the wire."""

    retriable: bool
    message: str

    if not TYPE_CHECKING:

        def __new__(cls, code: int, retriable: bool, message: str) -> ErrorCode:
            member = int.__new__(cls, code)
            member._value_ = code
            member.retriable = retriable
            member.message = message
            return member

    UNKNOWN_SERVER_ERROR = (
        -1,
        False,
        "The broker failed in a way it did not expect; its log tells more.",
    )
    NONE = 0, False, "No error."
    OFFSET_OUT_OF_RANGE = 1, False, "The offset lies outside of what the log holds."
    CORRUPT_MESSAGE = (
        2,
        True,
        "The records fail their checksum, are cut short, or lack a key that the topic requires.",
    )
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "This broker knows no such topic or partition."
    INVALID_FETCH_SIZE = 4, False, "The fetch size cannot be used."
    LEADER_NOT_AVAILABLE = (
        5,
        True,
        "The partition has no leader at present; an election is under way.",
    )
    NOT_LEADER_OR_FOLLOWER = (
        6,
        True,
        "This broker is not the leader, or not a replica, of the partition; refresh the metadata.",
    )
    REQUEST_TIMED_OUT = 7, True, "The request ran out of time."
    BROKER_NOT_AVAILABLE = 8, False, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, True, "The replica is not available."
    MESSAGE_TOO_LARGE = 10, False, "The records are larger than the broker accepts."
    STALE_CONTROLLER_EPOCH = 11, False, "The controller has moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, False, "The metadata string of the offset is too long."
    NETWORK_EXCEPTION = 13, True, "The connection was lost before the response came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is still loading its state."
    COORDINATOR_NOT_AVAILABLE = 15, True, "The coordinator is not available."
    NOT_COORDINATOR = 16, True, "This broker is not the coordinator; find it again."
    INVALID_TOPIC_EXCEPTION = (
        17,
        False,
        "The topic may not be used this way, or its name is not valid.",
    )
    RECORD_LIST_TOO_LARGE = 18, False, "The records are larger than a segment of the log may be."
    NOT_ENOUGH_REPLICAS = (
        19,
        True,
        "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written.",
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        True,
        "The records were written, but to fewer replicas than min.insync.replicas asks for.",
    )
    INVALID_REQUIRED_ACKS = 21, False, "acks must be 0, 1 or -1 (all)."
    ILLEGAL_GENERATION = 22, False, "The generation of the group is not the current one."
    INCONSISTENT_GROUP_PROTOCOL = (
        23,
        False,
        "The member shares no protocol with the other members of the group.",
    )
    INVALID_GROUP_ID = 24, False, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, False, "The coordinator knows no such member."
    INVALID_SESSION_TIMEOUT = (
        26,
        False,
        "The session time-out is outside of what the broker allows.",
    )
    REBALANCE_IN_PROGRESS = 27, False, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The offset commit is larger than the broker accepts."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "Access to the topic is denied."
    GROUP_AUTHORIZATION_FAILED = 30, False, "Access to the group is denied."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "Access to the cluster is denied."
    INVALID_TIMESTAMP = 32, False, "The timestamp of a record is outside of what the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, False, "The request does not fit the state of the SASL exchange."
    UNSUPPORTED_VERSION = 35, False, "The broker does not speak this version of the API."
    TOPIC_ALREADY_EXISTS = 36, False, "A topic with this name exists already."
    INVALID_PARTITIONS = 37, False, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = (
        38,
        False,
        "The replication factor is not valid, or larger than the number of brokers.",
    )
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The assignment of replicas is not valid."
    INVALID_CONFIG = 40, False, "A setting or its value is not valid."
    NOT_CONTROLLER = 41, True, "This broker is not the controller."
    INVALID_REQUEST = 42, False, "The request contradicts itself or asks for something impossible."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "The stored message format cannot do this."
    POLICY_VIOLATION = 44, False, "A policy of the cluster forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = (
        45,
        False,
        "A batch of the producer is missing in front of this one.",
    )
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "The batch was written before."
    INVALID_PRODUCER_EPOCH = 47, False, "The producer's epoch is old; a newer one has taken over."
    INVALID_TXN_STATE = 48, False, "The transaction is not in a state that allows this."
    INVALID_PRODUCER_ID_MAPPING = (
        49,
        False,
        "The producer id does not belong to this transactional id.",
    )
    INVALID_TRANSACTION_TIMEOUT = (
        50,
        False,
        "The transaction time-out is larger than the broker allows.",
    )
    CONCURRENT_TRANSACTIONS = 51, True, "Another operation on the transaction is under way."
    TRANSACTION_COORDINATOR_FENCED = (
        52,
        False,
        "The transaction coordinator has been replaced by a newer one.",
    )
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "Access to the transactional id is denied."
    SECURITY_DISABLED = 54, False, "Security features are turned off."
    OPERATION_NOT_ATTEMPTED = (
        55,
        False,
        "This part of the request was not attempted, since another part failed.",
    )
    KAFKA_STORAGE_ERROR = 56, True, "The log directory of the partition failed."
    LOG_DIR_NOT_FOUND = 57, False, "There is no such log directory, or it is not usable."
    SASL_AUTHENTICATION_FAILED = 58, False, "Authentication failed."
    UNKNOWN_PRODUCER_ID = 59, False, "The broker has no state for this producer id any more."
    REASSIGNMENT_IN_PROGRESS = 60, False, "A reassignment of the partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are turned off."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The delegation token belongs to somebody else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        False,
        "Delegation tokens cannot be used over this connection.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "Access to the delegation token is denied."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, False, "The type of the principal is not supported."
    NON_EMPTY_GROUP = 68, False, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, False, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "There is no such fetch session."
    INVALID_FETCH_SESSION_EPOCH = (
        71,
        True,
        "The epoch of the fetch session is not the expected one.",
    )
    LISTENER_NOT_FOUND = (
        72,
        True,
        "The leader has no listener that matches the one of this request.",
    )
    TOPIC_DELETION_DISABLED = (
        73,
        False,
        "Topics may not be deleted here: delete.topic.enable is false.",
    )
    FENCED_LEADER_EPOCH = 74, True, "The leader epoch of the request is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, True, "The leader epoch of the request is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = (
        76,
        False,
        "The client cannot read the compression of the records.",
    )
    STALE_BROKER_EPOCH = 77, False, "The epoch of the broker has changed."
    OFFSET_NOT_AVAILABLE = 78, True, "The leader does not know its high watermark yet; try again."
    MEMBER_ID_REQUIRED = 79, False, "Join again with the member id in this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group has reached its largest size."
    FENCED_INSTANCE_ID = 82, False, "Another member with the same group.instance.id has taken over."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No replica that may become leader is available."
    ELECTION_NOT_NEEDED = 84, True, "The partition needs no election."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "No reassignment of the partition is under way."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "A member of the group is subscribed to the topic."
    INVALID_RECORD = 87, False, "The broker refused a record."
    UNSTABLE_OFFSET_COMMIT = 88, True, "Offsets of open transactions are in the way; try again."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "A quota is used up; try again later."
    PRODUCER_FENCED = 90, False, "A newer producer with the same transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, False, "There is no such resource."
    DUPLICATE_RESOURCE = 92, False, "The resource is named more than once, or exists already."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, False, "The sender's set of voters is not the receiver's."
    INVALID_UPDATE_VERSION = 95, False, "The version of the feature update is not valid."
    FEATURE_UPDATE_FAILED = 96, False, "The update of finalized features failed."
    PRINCIPAL_DESERIALIZATION_FAILURE = (
        97,
        False,
        "The principal of a forwarded request could not be read.",
    )
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside of the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "This broker knows no topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "The broker id is in use by another registration."
    BROKER_ID_NOT_REGISTERED = 102, False, "The broker id is not registered."
    INCONSISTENT_TOPIC_ID = 103, True, "The topic id is not the one the log was created with."
    INCONSISTENT_CLUSTER_ID = (
        104,
        False,
        "The cluster id of the request is not the one of this cluster.",
    )
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "The topic ids of the fetch session have changed."
    INELIGIBLE_REPLICA = 107, False, "The replica may not join the in-sync replicas."
    NEW_LEADER_ELECTED = 108, False, "The change made another replica the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset lies in tiered storage."
    FENCED_MEMBER_EPOCH = 110, False, "The member's epoch is old; leave and join again."
    UNRELEASED_INSTANCE_ID = 111, False, "Another member still holds this group.instance.id."
    UNSUPPORTED_ASSIGNOR = 112, False, "The broker has no such assignor."
    STALE_MEMBER_EPOCH = (
        113,
        False,
        "The member's epoch is old; retry with the one of the next heartbeat.",
    )
    MISMATCHED_ENDPOINT_TYPE = 114, False, "The request came to a listener of the wrong type."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "Listeners of this type are not supported here."
    UNKNOWN_CONTROLLER_ID = 116, False, "There is no such controller id."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The telemetry subscription is not the current one."
    TELEMETRY_TOO_LARGE = 118, False, "The telemetry report is larger than the broker accepts."
    INVALID_REGISTRATION = 119, False, "The registration of the broker is not valid."
    TRANSACTION_ABORTABLE = 120, False, "The transaction cannot go on; abort it."
    INVALID_RECORD_STATE = (
        121,
        False,
        "The record is not in a state that allows this acknowledgement.",
    )
    SHARE_SESSION_NOT_FOUND = 122, True, "There is no such share session."
    INVALID_SHARE_SESSION_EPOCH = (
        123,
        True,
        "The epoch of the share session is not the expected one.",
    )
    FENCED_STATE_EPOCH = 124, False, "The epoch of the share state is old."
    INVALID_VOTER_KEY = 125, False, "The directory id of the voter is not the expected one."
    DUPLICATE_VOTER = 126, False, "The voter is in the set already."
    VOTER_NOT_FOUND = 127, False, "The voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, False, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, False, "The client must start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, False, "The topology of the streams application is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "The epoch of the topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, False, "The epoch of the topology is old."
    SHARE_SESSION_LIMIT_REACHED = (
        133,
        True,
        "The broker has reached its largest number of share sessions.",
    )
    SINK_FENCED = 10_000, False, "Another run writes to this sink now."
    SINK_ALREADY_COMMITTED = 10_001, False, "The sink has committed this batch already."
    CHECKPOINT_BEHIND_SINK = (
        10_002,
        False,
        "The sink has committed later batches than the checkpoint knows of; 'ottla sinks reset' makes it forget them.",
    )
    SINK_BATCH_DIFFERS = (
        10_003,
        False,
        "The sink has committed this batch with other contents; 'ottla sinks reset' makes it forget that.",
    )
    SINK_SLOT_LOST = (
        10_004,
        False,
        "A part of the batch is not known any more, or was aborted: nothing was committed; write the batch again.",
    )
