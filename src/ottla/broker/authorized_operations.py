"""Pure: the operations a client may do on a resource, as the bit field that responses carry."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Operation(IntEnum):
    """What an access rule may allow; the number is the bit."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(operations: Iterable[Operation]) -> int:
    return sum(1 << operation for operation in operations)


# Without an authorizer everybody may do everything that makes sense for a resource.
TOPIC: Final = _bits(
    (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
GROUP: Final = _bits(
    (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
CLUSTER: Final = _bits(
    (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    )
)
NOT_ASKED: Final = -(2**31)
