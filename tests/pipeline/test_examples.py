"""examples/spark_*.py: the words are counted, the visits are found, and the files hold every record once."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples import spark_click_sessions, spark_to_parquet, spark_word_count
from tests.pipeline.topics import committed
from tests.support.clients import consume, create_topic, produce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.compat

PROGRAMS = Path(__file__).parents[2] / "examples"
COMMITTED = {"isolation_level": "read_committed"}


def last_values(bootstrap: str, topic: str) -> dict[str, str]:
    """What a compacted topic would keep."""
    return {m.key().decode(): m.value().decode() for m in consume(bootstrap, topic, **COMMITTED)}


def test_words_are_counted_from_run_to_run(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    lines, counts = (
        create_topic(bootstrap, "lines", partitions=2),
        create_topic(bootstrap, "counts"),
    )
    chosen = Namespace(
        bootstrap_server=bootstrap,
        source=lines,
        target=counts,
        checkpoint=str(tmp_path),
        once=True,
    )
    produce(bootstrap, lines, [b"Tea, and tea!", b"coffee and water"])
    spark_word_count.start(spark, chosen).awaitTermination()
    assert last_values(bootstrap, counts) == {"tea": "2", "and": "2", "coffee": "1", "water": "1"}
    produce(bootstrap, lines, [b"more tea", b""])
    spark_word_count.start(spark, chosen).awaitTermination()
    found = consume(bootstrap, counts, **COMMITTED)
    assert len(found) == 6, "words whose count did not change are not written again"
    assert last_values(bootstrap, counts)["tea"] == "3"


def click(user: str, page: str, at: str) -> bytes:
    return json.dumps({"user": user, "page": page, "at": f"2026-11-16T{at}Z"}).encode()


def test_clicks_become_visits(spark: SparkSession, bootstrap: str, tmp_path: Path) -> None:
    clicks, visits, refused = (create_topic(bootstrap, name) for name in ("clicks", "visits", "no"))
    chosen = Namespace(
        bootstrap_server=bootstrap,
        source=clicks,
        target=visits,
        refused=refused,
        checkpoint=str(tmp_path),
        once=True,
    )
    produce(bootstrap, clicks, [click("u1", "/tea", "10:00:00"), click("u1", "/cup", "10:20:00")])
    produce(bootstrap, clicks, [b"no click", click("u2", "/tea", "10:05:00")])
    # Much later, so that those visits have ended.
    produce(bootstrap, clicks, [click("u1", "/tea", "13:00:00")])
    for query in spark_click_sessions.start(spark, chosen):
        query.awaitTermination()
    found = {key: json.loads(value) for key, value in last_values(bootstrap, visits).items()}
    assert {user: (visit["clicks"], visit["pages"]) for user, visit in found.items()} == {
        "u1": (2, ["/cup", "/tea"]),
        "u2": (1, ["/tea"]),
    }
    [bad] = consume(bootstrap, refused, **COMMITTED)
    assert (bad.value(), bad.headers()) == (b"no click", [("refused", f"{clicks}/0/2".encode())])
    for query in ("visits", "refused"):
        assert committed(bootstrap, f"{clicks}-{query}") == {(clicks, 0): 5}


def test_files_hold_every_record_once(spark: SparkSession, bootstrap: str, tmp_path: Path) -> None:
    orders = create_topic(bootstrap, "orders", partitions=2)
    chosen = Namespace(
        bootstrap_server=bootstrap,
        source=orders,
        target=str(tmp_path / "orders"),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    for run in range(2):
        produce(bootstrap, orders, [b"%d" % n for n in range(run * 50, run * 50 + 50)])
        spark_to_parquet.start(spark, chosen).awaitTermination()
    rows = spark.read.parquet(chosen.target).collect()
    assert sorted(int(row.value) for row in rows) == list(range(100))
    assert list((tmp_path / "orders").glob("day=*"))


def test_a_job_without_java_is_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "spark_word_count.py"), "--checkpoint", str(tmp_path)],
        env={"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("spark_word_count: Spark needs Java, and there is none")
