"""Pure: TopicsConfig, how topics come and go."""

from dataclasses import dataclass

from ottla.config.kinds import Bool, Int
from ottla.config.setting import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsConfig:
    """What holds for topics that are made without saying otherwise."""

    num_partitions: int = setting(
        "num.partitions",
        1,
        Int(1),
        doc="Gives new topics this many partitions where the client asks for none.",
    )
    default_replication_factor: int = setting(
        "default.replication.factor",
        1,
        Int(1, 32767),
        doc="Gives new topics this many replicas where the client asks for none.",
    )
    auto_create_topics_enable: bool = setting(
        "auto.create.topics.enable",
        True,
        Bool(),
        importance="high",
        doc="Makes a topic when a client that allows it asks for one that does not exist.",
    )
    delete_topic_enable: bool = setting(
        "delete.topic.enable",
        True,
        Bool(),
        importance="high",
        doc="Lets clients delete topics.",
    )
