"""DescribeSinks: where sinks stand, and which slots hold back readers."""

import pytest

from ottla.protocol.apis.describe_sinks import DescribeSinksRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_it_shows_the_ledger_and_the_open_slots(client: Client) -> None:
    driver = Driver(client)
    driver.commit(3, digest="three")
    writer, _ = driver.task(4, 0), driver.task(4, 1, attempt=9)
    writer.send(client.new_topic(), b"v")
    found = driver.describe()
    assert (found.error_code, found.run_id, found.generation) == (0, driver.run_id, 1)
    assert (found.committed_batch, found.committed_digest) == (3, "three")
    assert (found.ephemeral, found.timeout_ms) == (False, 60_000)
    slots = {slot.partition: slot for slot in found.slots}
    assert (slots[0].state, slots[0].transactional_id) == ("Ongoing", writer.id)
    assert (slots[0].producer_id, slots[0].producer_epoch) == (writer.producer_id, writer.epoch)
    assert (slots[1].state, slots[1].attempt, slots[1].batch) == ("Empty", 9, 4)


def test_all_sinks_are_listed_or_those_that_are_named(client: Client) -> None:
    mine = {Driver(client).sink_id, Driver(client).sink_id}
    listed = client.ask(DescribeSinksRequest(sink_ids=None))
    assert listed.error_code == 0
    assert mine <= {sink.sink_id for sink in listed.sinks}
    [unknown] = client.ask(DescribeSinksRequest(sink_ids=["never-opened"])).sinks
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert client.ask(DescribeSinksRequest(sink_ids=[])).sinks == []
