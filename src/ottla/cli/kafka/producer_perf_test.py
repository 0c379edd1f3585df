"""kafka-producer-perf-test: sends records as quickly as it can, or is told to, and prints how it went."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from time import time
from typing import Final

from ottla.cli.kafka.client_options import understood
from ottla.cli.kafka.command import complain, run_with_parser
from ottla.cli.kafka.connect import read_properties
from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.perf_payloads import Payloads, file_payloads, numbers, random_payloads
from ottla.cli.kafka.perf_statistics import Statistics
from ottla.client.async_producer import AsyncProducer
from ottla.client.delivery import RecordMetadata
from ottla.client.producer_settings import ProducerSettings

_CLIENT_ID: Final = "perf-producer-client"
_DEFAULT_TRANSACTION_MS: Final = 3000
_SHORTEST_SLEEP_S: Final = 0.002


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-producer-perf-test; the exit code."""
    parser = _parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        return 0
    return run_with_parser(parser, partial(_execute, parser), argv)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-producer-perf-test",
        description="Sends records to a topic and prints throughput and latency.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--bootstrap-server", metavar="BOOTSTRAP-SERVER", help="brokers to ask first")
    add("--topic", required=True, help="send records to this topic")
    add("--num-records", metavar="NUM-RECORDS", type=int, required=True, help="how many")
    add("--throughput", type=float, required=True, help="records a second; -1 for no limit")
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", metavar="RECORD-SIZE", type=int, help="bytes of a record")
    payload.add_argument("--payload-file", metavar="PAYLOAD-FILE", help="a file with records")
    payload.add_argument("--payload-monotonic", action="store_true", help="send 0, 1, 2 ...")
    add("--payload-delimiter", metavar="PAYLOAD-DELIMITER", default="\\n", help="between records")
    pairs = {"nargs": "+", "metavar": "PROP-NAME=PROP-VALUE", "action": "extend"}
    add("--command-property", **pairs, help="settings of the producer")  # type: ignore[arg-type]
    add("--producer-props", **pairs, help="(DEPRECATED) the same")  # type: ignore[arg-type]
    add("--command-config", metavar="CONFIG-FILE", help="a file with settings of the producer")
    add(
        "--producer.config",
        metavar="CONFIG-FILE",
        dest="producer_config",
        help="(DEPRECATED) the same",
    )
    add("--print-metrics", action="store_true", help="print counters at the end")
    add("--transactional-id", metavar="TRANSACTIONAL-ID", help="send in transactions of this id")
    add(
        "--transaction-duration-ms",
        metavar="TRANSACTION-DURATION",
        type=int,
        help="commit after so long (default 3000, if there are transactions)",
    )
    add(
        "--warmup-records",
        metavar="WARMUP-RECORDS",
        type=int,
        default=0,
        help="not counted at first",
    )
    add(
        "--reporting-interval",
        metavar="INTERVAL-MS",
        type=int,
        default=5000,
        help="ms between lines",
    )
    return parser


def _execute(parser: ArgumentParser, given: Namespace) -> int:
    flaw = _flaw(given)
    if flaw is not None:
        parser.print_usage(sys.stderr)
        raise Failed(f"kafka-producer-perf-test: error: {flaw}")
    settings = _settings(given)
    test = Test(given, settings, _payloads(given))
    asyncio.run(test.run())
    return 1 if test.errors else 0


def _flaw(given: Namespace) -> str | None:
    if given.num_records <= 0:
        return "--num-records should be greater than zero."
    if given.warmup_records >= given.num_records:
        return (
            "The value for --warmup-records must be strictly fewer than the number of records in "
            "the test, --num-records."
        )
    if given.record_size is not None and given.record_size <= 0:
        return "--record-size should be greater than zero."
    if given.transaction_duration_ms is not None and given.transaction_duration_ms <= 0:
        return "--transaction-duration-ms should be greater than zero."
    if given.reporting_interval <= 0:
        return "--reporting-interval should be greater than zero."
    for new, old in (("command_property", "producer_props"), ("command_config", "producer_config")):
        if getattr(given, new) and getattr(given, old):
            return f"--{new.replace('_', '-')} and its older name cannot be specified together."
    named = (given.bootstrap_server, given.command_property, given.producer_props)
    if not any((*named, given.producer_config, given.command_config)):
        return (
            "At least one of --bootstrap-server, --command-property, --producer-props, "
            "--producer.config or --command-config must be specified."
        )
    return None


def _settings(given: Namespace) -> dict[str, str]:
    for old, new in (("producer-props", "command-property"), ("producer.config", "command-config")):
        if getattr(given, old.replace("-", "_").replace(".", "_")):
            print(
                f"Option --{old} has been deprecated and will be removed in a future version. "
                f"Use --{new} instead."
            )
    file = given.command_config or given.producer_config
    settings = {"client.id": _CLIENT_ID, **(read_properties(file) if file else {})}
    for text in given.command_property or given.producer_props or ():
        name, _, value = text.partition("=")
        if not name or not value:
            raise Failed(f"Invalid property: {text}")
        settings[name] = value
    if given.bootstrap_server:
        settings["bootstrap.servers"] = given.bootstrap_server
    if given.transactional_id:
        settings["transactional.id"] = given.transactional_id
    elif given.transaction_duration_ms is not None and "transactional.id" not in settings:
        from uuid import uuid4

        settings["transactional.id"] = f"performance-producer-{uuid4()}"
    return understood(ProducerSettings, settings)


def _payloads(given: Namespace) -> Payloads:
    if given.payload_file is not None:
        return file_payloads(given.payload_file, given.payload_delimiter)
    return numbers() if given.payload_monotonic else random_payloads(given.record_size)


class Test:
    """One run; latencies are in milliseconds from sending to the broker's word."""

    def __init__(self, given: Namespace, settings: dict[str, str], payloads: Payloads) -> None:
        self._given = given
        self._settings = settings
        self._payloads = payloads
        self._transaction_s = (given.transaction_duration_ms or _DEFAULT_TRANSACTION_MS) / 1000
        self._all = Statistics(given.reporting_interval)
        self._steady: Statistics | None = None
        self.errors: set[str] = set()

    async def run(self) -> None:
        """Send everything and print the results."""
        if self._given.warmup_records > 0:
            print(
                f"Warmup first {self._given.warmup_records} records. Steady state results will "
                "print after the complete test summary."
            )
        async with AsyncProducer(self._settings) as producer:
            if "transactional.id" in self._settings:
                await producer.init_transactions()
                await self._send_in_transactions(producer)
            else:
                for number in range(self._given.num_records):
                    await self._send(producer, number)
        for found in (self._all, self._steady):
            if found is not None and found.count:
                print(found.total())
        if self._given.print_metrics:
            self._print_metrics()

    async def _send_in_transactions(self, producer: AsyncProducer) -> None:
        began = None
        for number in range(self._given.num_records):
            if began is None:
                producer.begin_transaction()
                began = time()
            await self._send(producer, number)
            if time() - began >= self._transaction_s:
                await producer.commit_transaction()
                began = None
        if began is not None:
            await producer.commit_transaction()

    async def _send(self, producer: AsyncProducer, number: int) -> None:
        if number == self._given.warmup_records and number:
            self._steady = Statistics(self._given.reporting_interval, steady=True)
            self._all.quiet = True
        payload, now = next(self._payloads), time()
        told = partial(self._delivered, now, len(payload), self._steady)
        await producer.send(self._given.topic, payload, on_delivery=told)
        if self._given.throughput > 0:
            ahead_s = self._all.began + (number + 1) / self._given.throughput - now
            if ahead_s > _SHORTEST_SLEEP_S:
                await asyncio.sleep(ahead_s)

    def _delivered(
        self,
        sent: float,
        size: int,
        steady: Statistics | None,
        metadata: RecordMetadata | None,
        error: Exception | None,
    ) -> None:
        if error is not None:
            if str(error) not in self.errors:
                complain(str(error))
            self.errors.add(str(error))
            return
        now = time()
        latency_ms = int((now - sent) * 1000)
        for statistics in (self._all, steady):
            if statistics is not None:
                line = statistics.add(latency_ms, size, now)
                if line is not None:
                    print(line, flush=True)

    def _print_metrics(self) -> None:
        counters = {
            "record-send-rate": self._all.rate,
            "record-send-total": self._all.count,
            "record-size-avg": self._all.size_bytes / max(1, self._all.count),
        }
        owner = f"{{client-id={self._settings.get('client.id')}}}"
        names = {f"producer-metrics:{name}:{owner}": value for name, value in counters.items()}
        width = max(map(len, names))
        print(f"\n{'Metric Name'.ljust(width)}   Value")
        for name, value in names.items():
            print(f"{name.ljust(width)} : {value:.3f}")
