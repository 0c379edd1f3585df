"""Runs cases with ottla's test driver and with Kafka Streams' own, and says where they differ."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ottla.streams import TopologyTestDriver
from tests.streams.cases import Case
from tests.streams.steps import topology
from tools import kafka_streams

JAVA = Path(__file__).parent / "kafka" / "Cases.java"

Answer = dict[str, Any]


def ours(case: Case) -> Answer:
    """What ottla makes of a case, as Cases.java prints it."""
    built = topology(case.steps)
    driver = TopologyTestDriver(built)
    for topic, key, value, timestamp_ms in case.records:
        driver.input(topic).send(key, value, timestamp_ms)
    topics = [step["topic"] for step in case.steps if step["op"] == "to"]
    stores = [
        step["store"] for step in case.steps if step.get("store") and step["op"] != "global_table"
    ]
    return {
        "describe": built.describe(),
        "outputs": {
            topic: [
                [record.key, record.value, record.timestamp_ms]
                for record in driver.output(topic).read()
            ]
            for topic in topics
        },
        "stores": {
            name: [[key, value] for key, value in driver.store(name).all()] for name in stores
        },
    }


def theirs(cases: Sequence[Case], timeout: float = 300.0) -> list[Answer]:
    """What Kafka Streams makes of the cases: one JVM for all."""
    lines = "".join(
        json.dumps({"steps": case.steps, "records": case.records}) + "\n" for case in cases
    )
    done = subprocess.run(
        kafka_streams.java_command(JAVA), input=lines, capture_output=True, text=True, timeout=timeout, check=False
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"Cases.java ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(case: Case, kafka: Answer) -> list[str]:
    """Return what differs, in words."""
    if "error" in kafka:
        return [f"Kafka Streams refuses the case: {kafka['error']}"]
    own = ours(case)
    found = []
    if normalized(own["describe"]) != normalized(kafka["describe"]):
        found.append(f"describe:\n{own['describe']}\nbut Kafka Streams:\n{kafka['describe']}")
    for part in ("outputs", "stores"):
        for name, expected in kafka[part].items():
            if own[part][name] != expected:
                found.append(f"{part} {name}: {_first_difference(own[part][name], expected)}")
    return found


def normalized(text: str) -> str:
    """describe() with the names in brackets and behind arrows sorted: Kafka's order there is that of hash codes."""

    def ordered(match: re.Match[str]) -> str:
        return match[1] + ", ".join(sorted(match[2].split(", "))) + match[3]

    text = re.sub(r"(\[)(.*?)(\])", ordered, text)
    return re.sub(r"((?:-->|<--) )(.*?)(\n)", ordered, text)


def _first_difference(own: list[Any], kafka: list[Any]) -> str:
    same = 0
    while same < min(len(own), len(kafka)) and own[same] == kafka[same]:
        same += 1
    return f"after {same} equal ones {own[same : same + 6]}, but Kafka Streams {kafka[same : same + 6]}"
