"""The worker: does what the topics say, and tells in them what became of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.client.admin import Admin
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.client.administration.topics import NewTopic
from ottla.connect.connectors.connector import Sink, Source
from ottla.connect.errors import NotThereYet
from ottla.connect.options.connector import instance_of, topics_of, with_defaults
from ottla.connect.worker import formats
from ottla.connect.worker.running import Phase, Run, Step, failed, next_step
from ottla.connect.worker.topics import Topics
from ottla.connect.worker.view import Known, View
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.consumer_record import ConsumerRecord
    from ottla.connect.spark.queries import Queries

log = logger(__name__)
_LOOK_S: Final = 0.25
_BEGINNING: Final = -2
_ONLY_A_PERSON_MENDS: Final = ("ConfigInvalid", "DataInvalid", "OutsideRoots")


class Worker:
    """Runs every connector of its group."""

    def __init__(
        self, settings: Mapping[str, Any], client: Mapping[str, str], queries: Queries, address: str
    ) -> None:
        self.settings = settings
        self.view = View()
        self.address = address
        self.client = dict(client)
        self._queries = queries
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._loop_task: asyncio.Task[None] | None = None
        self.config_topic: str = settings["config.storage.topic"]
        self.offset_topic: str = settings["offset.storage.topic"]
        self.status_topic: str = settings["status.storage.topic"]
        names = (self.config_topic, self.offset_topic, self.status_topic)
        self.topics = Topics(client, names, self._replay)

    async def start(self) -> None:
        """Read the topics, then begin to run what they name."""
        await self.topics.open(self._wanted_topics())
        self._loop_task = asyncio.create_task(self._run(), name="connectors")
        # The REST API answers at once; Spark takes seconds.
        self._spawn(self._warm())

    async def stop(self) -> None:
        """Stop every connector after its batch; others may run them then."""
        if self._loop_task is not None:
            self._loop_task.cancel()
            await asyncio.gather(self._loop_task, *self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._queries.close)
        await self.topics.close()

    async def _warm(self) -> None:
        try:
            await self._in_starter(self._queries.warm)
        except OttlaError as error:
            log.error("Spark cannot be started, so no connector can", reason=str(error))

    # --- what goes on

    def _replay(self, record: ConsumerRecord) -> None:
        if record.topic == self.config_topic:
            self.view.replay_config(record.key, record.value)
        elif record.topic == self.offset_topic:
            self.view.replay_offset(record.key, record.value)
        else:
            self.view.replay_status(record.key, record.value)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._look_at_all()
            except OttlaError as error:
                log.warning("connectors cannot be looked after now", reason=str(error))
            except Exception:  # the loop has to outlive what nobody foresaw
                log.exception("looking after connectors failed")
            self._wake.clear()
            try:
                async with asyncio.timeout(_LOOK_S):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _look_at_all(self) -> None:
        now = time.monotonic()
        for name in {*self.view.names(), *self._runs}:
            run = self._runs.setdefault(name, Run())
            await self._notice_failure(name, run)
            known = self.view.get(name)
            step = next_step(run, known, now)
            if step is Step.START and known is not None:
                run.phase, run.version = Phase.STARTING, known.version
                self._spawn(self._start_one(name, run, known))
            elif step is Step.STOP:
                run.phase = Phase.STOPPING
                self._spawn(self._stop_one(name, run))
            elif known is None and run.phase in (Phase.IDLE, Phase.FAILED):
                del self._runs[name]

    async def _notice_failure(self, name: str, run: Run) -> None:
        if run.phase is not Phase.RUNNING or run.query.isActive:
            return
        from ottla.connect.spark.queries import failure_of

        why = await asyncio.to_thread(failure_of, run.query) or ("the query ended", "")
        await self._fail(name, run, *why)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_one(self, name: str, run: Run, known: Known) -> None:
        run.began, run.retry_at = time.monotonic(), None
        try:
            run.query = await self._query(name, known)
        except Exception as error:
            if not isinstance(error, OttlaError):
                log.exception("a connector could not be started", connector=name)
            await self._fail(name, run, str(error), f"{type(error).__name__}: {error}")
            return
        run.phase, run.told = Phase.RUNNING, None
        await self._tell(name, "RUNNING")
        self._wake.set()

    async def _query(self, name: str, known: Known) -> Any:
        assert known.config is not None
        config = with_defaults(known.config, self.settings)
        connector = instance_of(config)
        if isinstance(connector, Source):
            sink_id = f"connect-{self.settings['group.id']}-{name}"
            await self._take_over(sink_id)
            offsets = list(self._offsets_of(name))
            used = connector.topics()
            await self._note_topics(name, used)
            start = self._queries.start_source
            return await self._in_starter(start, name, config, sink_id, offsets, self.offset_topic)
        assert isinstance(connector, Sink)
        known_there = await asyncio.to_thread(connector.open)
        subscription, topics = topics_of(config), []
        positions: dict[str, dict[str, int]] = {}
        if "subscribe" in subscription:
            topics = subscription["subscribe"].split(",")
            positions = await self._positions(name, topics, known_there)
        await self._note_topics(name, topics)
        start_sink, group = self._queries.start_sink, f"connect-{name}"
        return await self._in_starter(start_sink, name, config, subscription, positions, group)

    def _in_starter(self, work: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._queries.starter, work, *arguments)

    def _offsets_of(self, name: str) -> Any:
        known = self.view.get(name)
        return known.offsets.values() if known is not None else ()

    async def _take_over(self, sink_id: str) -> None:
        """Shut out a worker that still writes for this connector; what it has committed by then is read."""
        async with Admin(self.client) as admin:
            try:
                await admin.reset_sink(sink_id)
            except ApiError as error:
                if error.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    raise  # else nobody has written for it yet
        await self.topics.caught_up()

    async def _positions(
        self, name: str, topics: list[str], known_there: Mapping[tuple[str, int], int]
    ) -> dict[str, dict[str, int]]:
        """Where a sink goes on: what its group has committed, or what the other system knows, if that is more."""
        async with Admin(self.client) as admin:
            committed = await admin.list_group_offsets(f"connect-{name}")
            described = await admin.describe_topics(topics)
        found: dict[str, dict[str, int]] = {}
        for topic, outcome in described.items():
            if isinstance(outcome, ApiError):
                raise NotThereYet(f"the topic {topic} cannot be read: {outcome}")
            for partition in outcome.partitions:
                number = partition.index
                offset = committed.get(TopicPartition(topic, number))
                known = offset.offset if isinstance(offset, CommittedOffset) else -1
                known = max(known, known_there.get((topic, number), -1))
                found.setdefault(topic, {})[str(number)] = known if known >= 0 else _BEGINNING
        return found

    async def _stop_one(self, name: str, run: Run) -> None:
        query, run.query = run.query, None
        try:
            await asyncio.to_thread(self._queries.stop, query)
        except Exception:  # a query that cannot be stopped is left behind: its sink shuts it out
            log.exception("a query could not be stopped", connector=name)
        run.phase = Phase.IDLE
        known = self.view.get(name)
        if known is not None:
            await self._tell(name, str(known.target).replace("STARTED", "UNASSIGNED"))
        self._wake.set()

    async def _fail(self, name: str, run: Run, why: str, story: str) -> None:
        may_pass = not any(word in story for word in _ONLY_A_PERSON_MENDS)
        is_early = NotThereYet.__name__ in story
        failed(run, time.monotonic(), may_pass=may_pass, is_early=is_early)
        if run.told != why:
            log.warning("connector failed", connector=name, reason=why)
            await self._tell(name, "FAILED", why)
        run.told = why

    def complete(self, config: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return a configuration with all that the worker adds to it."""
        given = {name: value for name, value in config.items() if value is not None}
        return {**config, **with_defaults(given, self.settings)}

    # --- what is told

    async def tell_target(self, name: str) -> None:
        """Tell that a connector is paused or stopped, where nothing runs that would tell it."""
        known, run = self.view.get(name), self._runs.get(name)
        if known is not None and (run is None or run.phase in (Phase.IDLE, Phase.FAILED)):
            await self._tell(name, str(known.target))

    async def _tell(self, name: str, state: str, trace: str | None = None) -> None:
        if self.view.get(name) is None:
            return
        told = {"state": state, "trace": trace, "worker_id": self.address, "generation": 1}
        # A connector itself cannot fail here: what fails is its task.
        whole = {**told, "state": "RUNNING" if state == "FAILED" else state, "trace": None}
        stopped = state == "STOPPED"
        entries = [
            formats.connector_status(name, whole),
            formats.task_status(name, 0, None if stopped else told),
        ]
        await self.topics.append(self.status_topic, entries)

    async def _note_topics(self, name: str, topics: Any) -> None:
        known = self.view.get(name)
        new = [each for each in topics if known is not None and each not in known.topics]
        if new:
            now_ms = int(time.time() * 1000)
            entries = [formats.topic_status(name, topic, now_ms) for topic in new]
            await self.topics.append(self.status_topic, entries)

    def _wanted_topics(self) -> list[NewTopic]:
        compacted = {"cleanup.policy": "compact"}

        def topic(which: str, name: str, partitions: int) -> NewTopic:
            replicas = self.settings[f"{which}.storage.replication.factor"]
            return NewTopic(name, partitions, replicas, configs=compacted)

        return [
            topic("config", self.config_topic, 1),
            topic("offset", self.offset_topic, self.settings["offset.storage.partitions"]),
            topic("status", self.status_topic, self.settings["status.storage.partitions"]),
        ]
