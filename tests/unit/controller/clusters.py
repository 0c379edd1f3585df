"""Images of clusters to decide on."""

import itertools
import uuid
from collections.abc import Iterator, Sequence

from ottla.cluster.image import (
    BrokerImage,
    Changes,
    ConfigImage,
    Image,
    PartitionImage,
    TopicImage,
    advance,
)
from ottla.config.table import Settings
from ottla.config.topics import TopicsConfig
from ottla.controller.topics import Circumstances


def id_of(number: int) -> uuid.UUID:
    """The id of the topic of that number."""
    return uuid.UUID(int=1000 + number)


def ids() -> Iterator[uuid.UUID]:
    """Topic ids in a known order."""
    return map(id_of, itertools.count())


def cluster(brokers: int = 3, topics: Sequence[str] = (), partitions: int = 2) -> Image:
    """A cluster whose brokers are numbered from 1, and whose topics have two replicas."""
    made = {}
    for number, name in enumerate(topics):
        replicas = tuple(range(1, min(brokers, 2) + 1))
        placed = [PartitionImage(p, replicas, replicas, 1, 0, 0) for p in range(partitions)]
        made[name] = TopicImage(name, id_of(number), tuple(placed), 4)
    changes = Changes(
        brokers={b: BrokerImage(b, (), None, 1) for b in range(1, brokers + 1)},
        topics=made,
        topic_configs={name: ConfigImage({}, 2) for name in topics},
    )
    return advance(Image(), changes)[0]


def now(image: Image | None = None, **topics: object) -> Circumstances:
    """What decisions are based on, with these settings for topics."""
    settings = Settings(topics=TopicsConfig(**topics))  # type: ignore[arg-type]
    return Circumstances(cluster() if image is None else image, settings, 5)
