"""`ottla sinks` and the doctor: a job has died in the middle of a batch, and people find out and help themselves."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.clients import unique_name
from tests.support.ottla_cli import Ottla
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver, Task
from tests.unit.broker.handlers.transacting import committed

pytestmark = [pytest.mark.compat, pytest.mark.usefixtures("ottla_only")]


@pytest.fixture
def ottla(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Ottla:
    """The command line of a person without contexts."""
    return Ottla(bootstrap).at_home(monkeypatch)


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    """A connection of the test's own."""
    with closing(Client(bootstrap)) as connection:
        yield connection


def dead_job(client: Client, topic: str) -> tuple[Driver, Task]:
    """A job that has committed batch 4, and has died in batch 5."""
    driver = Driver(client, unique_name("clicks"))
    before = driver.task(4)
    before.send(topic, b"four")
    assert driver.commit(4, [before], digest="four") == 0
    task = driver.task(5)
    task.send(topic, b"five")
    return driver, task


def test_sinks_are_listed_and_described(
    ottla: Ottla, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, task = dead_job(client, client.new_topic())
    [row] = [each for each in ottla.json("sinks", "list") if each["sink"] == driver.sink_id]
    assert (row["committed_batch"], row["open_slots"], row["generation"]) == (4, 1, 1)
    found = ottla.json("sinks", "describe", driver.sink_id)
    assert (found["run"], found["committed_digest"]) == (driver.run_id, "four")
    [slot] = found["slots"]
    assert (slot["transactional_id"], slot["state"], slot["batch"]) == (task.id, "Ongoing", 5)
    assert task.id in ottla.ok("sinks", "describe", driver.sink_id)
    assert "did you mean" in ottla.refused("sinks", "describe", f"{driver.sink_id}x")
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", ottla.bootstrap)
    words = ("completion", "words", "sinks", "describe", driver.sink_id[:-1])
    assert driver.sink_id in ottla.ok(*words).split()


def test_the_doctor_names_the_sink_that_holds_back_readers(ottla: Ottla, client: Client) -> None:
    topic = client.new_topic()
    driver, task = dead_job(client, topic)
    told = ottla.ok("doctor", "--topic", topic)
    assert f"an open batch of the sink {driver.sink_id} in {topic}-0 hides 1 records" in told
    assert f"ottla sinks describe {driver.sink_id}" in told
    assert "ottla sinks abort" in ottla.refused("transactions", "abort", task.id)


def test_what_is_open_is_aborted_and_the_ledger_stays(ottla: Ottla, client: Client) -> None:
    topic = client.new_topic()
    driver, _ = dead_job(client, topic)
    assert "nothing is done without --yes" in ottla.refused("sinks", "abort", driver.sink_id)
    assert "aborted 1 open slot" in ottla.ok("sinks", "abort", driver.sink_id, "--yes")
    again = driver.task(5)
    again.send(topic, b"five again")
    assert driver.commit(5, [again]) == 0
    assert committed(client, topic) == [b"four", b"five again"]


def test_a_sink_is_made_to_forget(ottla: Ottla, client: Client) -> None:
    driver, _ = dead_job(client, client.new_topic())
    done = ottla.ok("sinks", "reset", driver.sink_id, "--yes")
    assert done == f"{driver.sink_id} has forgotten that it had committed batch 4\n"
    assert "there is no sink" in ottla.refused("sinks", "describe", driver.sink_id)
    assert Driver(client, driver.sink_id).open().committed_batch == -1
