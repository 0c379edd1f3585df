"""Names of things: topic partitions and topic ids."""

import base64
import uuid
from typing import Final, NamedTuple

ZERO_ID: Final = uuid.UUID(int=0)
"""Stands for "no id" on the wire."""

METADATA_TOPIC_ID: Final = uuid.UUID(int=1)
"""Kafka's own metadata log has this id; no other topic may."""

RESERVED_IDS: Final = frozenset((ZERO_ID, METADATA_TOPIC_ID))


class TopicPartition(NamedTuple):
    """One partition of one topic; prints as the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def new_topic_id() -> uuid.UUID:
    """Makes a random id that is not reserved and whose text does not begin with a dash."""
    while True:
        made = uuid.uuid4()
        # A leading dash would read as an option on the command lines of Kafka's tools.
        if made not in RESERVED_IDS and not id_text(made).startswith("-"):
            return made


def id_text(identifier: uuid.UUID) -> str:
    """Prints an id as Kafka does: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(identifier.bytes)[:22].decode("ascii")


def parse_id(text: str) -> uuid.UUID:
    """Reads what `id_text` prints; ValueError if the text is anything else."""
    if len(text) != 22:
        raise ValueError(f"{text!r} is not an id: 22 characters of URL-safe base64 are expected")
    return uuid.UUID(bytes=base64.b64decode(text + "==", altchars=b"-_", validate=True))
