"""Pure: errors as Kafka's own tools name them where their output shows an exception."""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError
from ottla.protocol.errors import ErrorCode

_PACKAGE: Final = "org.apache.kafka.common.errors."
_SUFFIX: Final = "Exception"

# The others are called after their code: GROUP_ID_NOT_FOUND is GroupIdNotFoundException.
_IRREGULAR: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "OffsetMetadataTooLarge",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequenceException",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException",
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE: "PrincipalDeserializationException",
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: "FetchSessionTopicIdException",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "InvalidRegularExpression",
}

# What Kafka's clients say where an answer has a code but no room for a sentence; scripts match on it.
_SENTENCES: Final = {
    ErrorCode.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets maintained by the server.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "Deleting offsets of a topic is forbidden while the consumer group "
    "is actively subscribed to it.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
}


def java_name(code: int) -> str:
    """What the exception of a code is called, with its package."""
    known = _known(code)
    if known is ErrorCode.INVALID_RECORD:  # the only one in another package
        return "org.apache.kafka.common.InvalidRecordException"
    if known in _IRREGULAR:
        return _PACKAGE + _IRREGULAR[known]
    name = "".join(part.capitalize() for part in known.name.split("_"))
    return _PACKAGE + name.removesuffix(_SUFFIX) + _SUFFIX


def kafka_message(error: ApiError) -> str:
    """What the broker said, else what Kafka's clients say in its place."""
    known = _known(error.code)
    untold = error.message in ("", known.message)
    return _SENTENCES.get(known, error.message) if untold else error.message


def java_text(error: ApiError) -> str:
    """An exception as Java prints it: its class and its message."""
    return f"{java_name(error.code)}: {kafka_message(error)}"


def _known(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
