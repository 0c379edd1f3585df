"""The orders were printed by Kafka's own commands."""

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.java_order import partitions_in_order, strings_in_order


def test_partitions_of_one_topic() -> None:
    partitions = [TopicPartition("first_topic", number) for number in range(5)]
    numbers = [each.partition for each in partitions_in_order(partitions)]
    assert numbers == [0, 1, 4, 2, 3]


def test_partitions_of_several_topics() -> None:
    partitions = [
        TopicPartition("one", 0),
        TopicPartition("first_topic", 2),
        TopicPartition("other-topic-with-a-long-name", 1),
    ]
    topics = [each.topic for each in partitions_in_order(partitions)]
    assert topics == ["other-topic-with-a-long-name", "one", "first_topic"]


def test_strings() -> None:
    groups = [f"console-consumer-{number}" for number in (58125, 76435, 89592)]
    assert strings_in_order([*groups, "my-first-application"]) == [
        "my-first-application",
        "console-consumer-89592",
        "console-consumer-58125",
        "console-consumer-76435",
    ]


def test_every_string_once_even_beyond_ascii() -> None:
    names = [f"gruppe-{number}-ü-\U0001f600" for number in range(100)]
    assert sorted(strings_in_order([*names, *names])) == sorted(names)
