"""ottla streams run: a file with a topology, as a user writes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import consume, create_named, produce, unique_name
from tests.support.requirements import requires

APPLICATION = """
from dataclasses import dataclass

from ottla.streams import JsonSerde, StreamsBuilder, f


@dataclass
class Order:
    customer: str
    amount: int


b = StreamsBuilder()
orders = b.stream("{orders}", key="string", value=JsonSerde(Order))
large = orders.filter(lambda key, order: order.amount > 50)
by_customer = large.group_by(f.value.customer, key="string", value=JsonSerde(Order))
by_customer.count(store="per-customer").to_stream().to("{counts}", key="string", value="long")
topology = b.build()
"""


@pytest.mark.usefixtures("ottla_only")
def test_an_application_in_a_file_goes_on_where_it_was(bootstrap: str, tmp_path: Path) -> None:
    requires("java")
    orders, counts = unique_name("orders"), unique_name("counts")
    for topic in (orders, counts):
        create_named(bootstrap, topic, 2, {"retention.ms": "-1"})
    name = f"app_{os.getpid()}"
    file = tmp_path / f"{name}.py"
    file.write_text(APPLICATION.format(orders=orders, counts=counts))
    given = [b'{"customer": "ann", "amount": 60}', b'{"customer": "bob", "amount": 5}']
    for total in (1, 2):
        produce(bootstrap, orders, [{"key": b"k", "value": value} for value in given])
        command = [str(OTTLA), "streams", "run", str(file), "--until-caught-up", "-b", bootstrap]
        ended = subprocess.run(
            [*command, "--checkpoint", str(tmp_path / "checkpoint")],
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr[-3000:]
        found = [
            (each.key(), int.from_bytes(each.value()))
            for partition in (0, 1)
            for each in consume(bootstrap, counts, partition, isolation_level="read_committed")
        ]
        assert found == [(b"ann", n + 1) for n in range(total)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("topology = None", "defines no topology"),
        ("1 / 0", "ZeroDivisionError"),
        (
            "from ottla.streams import StreamsBuilder\nb = StreamsBuilder()\n"
            "b.stream('a', key='string', value='string').join(b.global_table('g', key='string',"
            " value='string'), lambda x, y: y, key_selector=lambda k, v: v).to('o')\ntopology = b.build()",
            "joins with global tables do not run on Spark yet: read the topic with table",
        ),
    ],
)
def test_a_topology_that_cannot_be_built_ends_with_2(
    text: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(text)
    command = [sys.executable, "-m", "ottla", "streams", "run", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, sentence in ended.stderr) == (2, True), ended.stderr
