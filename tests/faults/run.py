"""One run: a cluster under load, a fault that strikes again and again, peace, and the verdict of the checker."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.checker.anomaly import Anomaly
from tests.checker.check import judge
from tests.checker.cluster import WITHIN, longest_gap_ms
from tests.checker.evidence import Evidence
from tests.checker.history import Isolation, Outcome
from tests.checker.replicas import ROTATION
from tests.checker.report import Report
from tests.faults.fault import MENDED_S, Fault
from tests.faults.moves import move, partitions, placed, prefer
from tests.faults.remains import note_elections, note_replicas
from tests.faults.scene import Scene, scene
from tests.faults.site import BROKERS
from tests.support.waiting import wait_for
from tests.workload.readers import read_all
from tests.workload.worker import TIMEOUT_S, key_of, partition_of

PEACE_S = 1.0
PATIENCE_S = 60.0
TRACE_CHARS = 3000

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to."""

    fault: str
    seed: int
    strikes: int
    seconds: float
    report: Report
    longest_gap_ms: float
    """The longest that any log took no write, from when the fault first struck."""
    history: Path
    """Where it is, if a promise was broken."""

    @property
    def operations(self) -> int:
        """How much the clients did."""
        return len(self.report.operations)


def perform(
    faults: Sequence[Fault], directory: Path, operations: int, seed: int, tell: Tell = str
) -> Run:
    """Strike with each at least once, and until the clients have done so many operations; all need one site."""
    began = time.monotonic()
    history = directory / "history.jsonl"
    with faults[0].SITE(directory) as site:
        with scene(site, seed, history) as found:
            tell("clients start")
            found.cast.start()
            found.settle()
            strikes = 0
            while strikes < len(faults) or found.recorder.ended.total() < operations:
                tell(f"strike {strikes + 1}, {found.recorder.ended.total()} operations")
                strike(faults[strikes % len(faults)], found)
                strikes += 1
            found.cast.end()
            tell("everything is read, from every leader")
            read_from_every_leader(found)
            promises = found.promises()
            stop_and_look(found)
        tell("judgement")
        evidence = Evidence(found.recorder.operations, promises)
        report = judge(evidence)
        report = replace(report, anomalies=[*report.anomalies, *tracebacks(found)])
        if not report.valid:
            found.recorder.save(history)
    name = " and ".join(fault.name for fault in faults)
    return Run(
        name, seed, strikes, time.monotonic() - began, report, longest_gap_ms(evidence), history
    )


def strike(fault: Fault, found: Scene) -> None:
    """The fault begins, lasts, is put right, and the cluster recovers."""
    recorder = found.recorder
    with recorder.disturbance():
        fault.strike(found)
        try:
            within = {} if fault.within_s is None else {WITHIN: fault.within_s * 1000}
            recorder.fault(fault.name, found.written_keys, **within)
            fault.while_it_lasts(found)
        finally:
            fault.mend(found)
        recorder.fault(f"{fault.name} mended", found.written_keys, **{WITHIN: MENDED_S * 1000})
        found.settle()
    found.cast.pause(PEACE_S, PATIENCE_S)


def read_from_every_leader(found: Scene) -> None:
    """Let each broker lead everything in turn, and read all of it from there."""
    everything = partitions(found, *found.topics)
    keys = [*found.cast.keys, *found.compacted_keys]
    ends = known_ends(found)
    for leader in BROKERS:
        targets = placed(found, dict.fromkeys(everything, leader))
        move(found, targets)
        prefer(found, targets)
        wait_until_committed(found, ends)
        for isolation in Isolation:
            read_all(found.cast.bootstrap, found.recorder, keys, isolation, **{ROTATION: leader})


def known_ends(found: Scene) -> dict[str, int]:
    """Where each log ends, as far as anybody was told."""
    ends: dict[str, int] = {}
    for operation in found.recorder.operations:
        if operation.outcome is Outcome.OK:
            for step in operation.steps:
                if step.offset is not None:
                    ends[step.key] = max(ends.get(step.key, 0), step.offset + 1)
    return ends


def wait_until_committed(found: Scene, ends: dict[str, int]) -> None:
    """A new leader shows records, and ends of transactions, once its followers have told it that they hold them."""
    admin = AdminClient({"bootstrap.servers": found.cast.bootstrap})
    asked = {partition_of(key): OffsetSpec.latest() for key in ends}

    def is_committed() -> bool:
        answers = admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_S
        )
        try:
            return all(
                future.result(TIMEOUT_S).offset >= ends[key_of(each.topic, each.partition)]
                for each, future in answers.items()
            )
        except KafkaException:
            return False  # somebody has not heard yet that he leads

    wait_for(is_committed, "what was acknowledged to be committed", TIMEOUT_S)


def stop_and_look(found: Scene) -> None:
    """Stop everything cleanly; then see what the brokers have left behind."""
    data_dirs = {number: found.site.data_dir(number) for number in BROKERS}
    looked_at = partitions(found, found.cast.source, found.cast.target)
    for number in BROKERS:
        found.broker(number).stop()
    note_replicas(found.recorder, data_dirs, looked_at)
    for number in BROKERS:
        note_elections(found.recorder, number, found.broker(number).log)


def tracebacks(found: Scene) -> list[Anomaly]:
    """Brokers that have stumbled over themselves."""
    anomalies = []
    for number in BROKERS:
        _, stumbled, trace = found.broker(number).log.partition("Traceback (most recent call last)")
        if stumbled:
            anomalies.append(Anomaly("traceback", f"broker {number}: {trace[:TRACE_CHARS]}"))
    return anomalies
