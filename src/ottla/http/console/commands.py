"""Pure: what a page does, as a command, as curl, in Python and with Spark, ready to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

Copies = list[tuple[str, str]]


def copies(
    bootstrap: str,
    command: str,
    curl: str,
    python: str,
    spark: str | None = None,
) -> Copies:
    """The four forms; `{b}` in them stands for the brokers."""
    found = [
        ("Command", f"{command} -b {shlex.quote(bootstrap)}"),
        ("curl", f"curl {curl}"),
        ("Python", python.replace("{b}", bootstrap)),
    ]
    if spark is not None:
        found.append(("PySpark", spark.replace("{b}", bootstrap)))
    return found


def admin_python(call: str) -> str:
    """A call of an admin client."""
    return (
        "import ottla\n\n"
        f'with ottla.Admin({{"bootstrap.servers": "{{b}}"}}) as admin:\n    print(admin.{call})'
    )


def consumer_python(topic: str) -> str:
    """A program that reads a topic from its beginning."""
    return (
        "import ottla\n\n"
        'with ottla.Consumer({"bootstrap.servers": "{b}"}, group_id="me", auto_offset_reset="earliest") as consumer:\n'
        f"    consumer.subscribe([{topic!r}])\n"
        "    for record in consumer:\n        print(record.key, record.value)"
    )


def stream_python(topic: str) -> str:
    """A Spark program that reads a topic."""
    return (
        'frame = spark.read.format("ottla").option("kafka.bootstrap.servers", "{b}")'
        f'.option("subscribe", {topic!r}).load()\n'
        'frame.selectExpr("CAST(value AS STRING)", "partition", "offset").show()'
    )


def quoted(address: str, method: str = "GET", body: str | None = None) -> str:
    """The arguments of curl for a request."""
    words = [] if method == "GET" else ["-X", method]
    if body is not None:
        words += ["-H", "content-type: application/json", "-d", body]
    return shlex.join([*words, address])


def query_of(said: Mapping[str, object]) -> str:
    """A query of what was said, without what was not."""
    from urllib.parse import urlencode

    kept = {name: value for name, value in said.items() if value not in (None, "")}
    return f"?{urlencode(kept)}" if kept else ""
