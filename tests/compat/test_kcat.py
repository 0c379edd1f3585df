"""kcat, the netcat of Kafka, as Debian ships it: librdkafka 2.0 of early 2023."""

import json
import subprocess

import pytest

from tests.support.clients import create_topic, produce
from tests.support.requirements import requires

pytestmark = pytest.mark.compat


@pytest.fixture(autouse=True)
def _kcat_is_installed() -> None:
    requires("kcat")


def kcat(bootstrap: str, *args: str, input: str = "") -> str:
    done = subprocess.run(
        ["kcat", "-b", bootstrap, *args], input=input, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def read(bootstrap: str, topic: str, *args: str) -> str:
    return kcat(bootstrap, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", *args)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back(bootstrap: str, topic: str, codec: str) -> None:
    lines = "".join(f"line {n}\n" for n in range(1000))
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", "-z", codec, input=lines)
    assert read(bootstrap, topic) == lines


def test_keys_headers_nulls_and_offsets_come_back(bootstrap: str, topic: str) -> None:
    args = ("-P", "-t", topic, "-p", "0", "-K", ":", "-Z", "-H", "colour=blue")
    kcat(bootstrap, *args, input="k1:v1\nk2:\n")
    lines = read(bootstrap, topic, "-J").splitlines()
    records = [json.loads(line) for line in lines]
    assert [(r["offset"], r["key"], r["payload"]) for r in records] == [
        (0, "k1", "v1"),
        (1, "k2", None),
    ]
    assert records[0]["headers"] == ["colour", "blue"]


def test_an_offset_and_a_count_bound_the_reading(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(100)])
    args = ("-C", "-t", topic, "-p", "0", "-o", "40", "-c", "3", "-q")
    assert kcat(bootstrap, *args) == "40\n41\n42\n"


def test_times_are_looked_up(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"v"] * 5)
    assert f"{topic} [0] offset 0" in kcat(bootstrap, "-Q", "-t", f"{topic}:0:1")


def test_the_cluster_is_listed(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=3)
    listing = json.loads(kcat(bootstrap, "-L", "-J", "-t", topic))
    [broker] = listing["brokers"]
    assert broker["name"] == bootstrap
    [found] = listing["topics"]
    assert (found["topic"], len(found["partitions"])) == (topic, 3)


def test_an_idempotent_producer_works(bootstrap: str, topic: str) -> None:
    args = ("-P", "-t", topic, "-p", "0", "-X", "enable.idempotence=true")
    kcat(bootstrap, *args, input="a\nb\n")
    assert read(bootstrap, topic) == "a\nb\n"
