"""`Application`: a topology at work on Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ottla.client.sync_admin import SyncAdmin
from ottla.streams.errors import StreamsError
from ottla.streams.spark.plan import Plan, Query
from ottla.streams.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ottla.streams.spark.offsets import GroupOffsets
    from ottla.streams.spark.views import StoreView

_NEEDED: Final = ("pyspark", "pyarrow", "pandas", "google.protobuf")
_LOOK_S: Final = 1.0
Guarantee = Literal["exactly_once", "at_least_once"]


class Application:
    """Runs a topology on Spark: a streaming query for each sub-topology, which meet in internal topics.

    `application_id` names checkpoints, the consumer group and internal topics; `checkpoint` is the directory of
    the checkpoints. `client` has more settings of the clients, such as those of TLS. `spark` is a session to run in;
    without one it is opened, with `master` and `spark_settings`, and its workers get the files `modules` to import.
    TopologyError says what of the topology Spark cannot run.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        application_id: str,
        bootstrap_servers: str = "localhost:9092",
        checkpoint: str | Path | None = None,
        master: str | None = None,
        spark: SparkSession | None = None,
        spark_settings: Mapping[str, str] | None = None,
        client: Mapping[str, str] | None = None,
        processing_guarantee: Guarantee = "exactly_once",
        trigger_ms: int = 0,
        modules: Iterable[Path] = (),
    ) -> None:
        self.plan = Plan(topology, application_id)
        self._queries = self.plan.queries  # what cannot run is refused here
        self.application_id = application_id
        self.client = {"bootstrap.servers": bootstrap_servers, **(client or {})}
        self.checkpoint = str(checkpoint or _default_checkpoint(application_id))
        self._master = master
        self._spark = spark
        self._owns_spark = spark is None
        self._modules = tuple(modules)
        self._spark_settings = dict(spark_settings or {})
        self._guarantee = processing_guarantee
        self._trigger_ms = trigger_ms
        self._running: list[StreamingQuery] = []
        self._stopped = threading.Event()
        self._admin: SyncAdmin | None = None
        self._views: dict[str, StoreView] = {}
        self._offsets: GroupOffsets | None = None
        self._watching: threading.Thread | None = None

    # --- running

    def run(self, *, until_caught_up: bool = False) -> None:
        """Run until stopped, or until inputs and internal topics have no lag; StreamsError says why it failed."""
        try:
            if until_caught_up:
                self._catch_up()
            else:
                self.start()
                self.wait()
        finally:
            self.stop()

    def start(self) -> None:
        """Start all queries, and return while they run."""
        self._prepare()
        trigger = {"processingTime": f"{self._trigger_ms} milliseconds"}
        for query in self._queries:
            self._running.append(self._started(query, trigger))
        self._watching = threading.Thread(target=self._watch, name="ottla-streams", daemon=True)
        self._watching.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the application is stopped; StreamsError if a query fails. False if the time-out has passed."""
        while not self._stopped.is_set():
            self._check_failed()
            waited = 1.0 if timeout_s is None else min(1.0, timeout_s)
            if self._stopped.wait(waited):
                break
            if timeout_s is not None:
                timeout_s -= waited
                if timeout_s <= 0:
                    return False
        return True

    def end(self) -> None:
        """Have `run` return soon; for handlers of signals."""
        self._stopped.set()

    def stop(self) -> None:
        """Stop all queries; a batch that is cut short is done again by the next start, once."""
        self._stopped.set()
        for query in self._running:
            query.stop()
        if self._watching is not None:
            self._watching.join()
            self._watching = None
        self._running.clear()
        for view in self._views.values():
            view.close()
        self._views.clear()
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        if self._owns_spark and self._spark is not None:
            self._spark.stop()
            self._spark = None

    # --- looking

    def store(self, name: str) -> StoreView:
        """The contents of a store, as its changelog has them; StreamsError if there is none of that name."""
        if name not in self._views:
            self._views[name] = self._view(name)
        return self._views[name]

    def lag(self) -> dict[str, int]:
        """How many records of each topic that the application reads it has not handled yet, by topic."""
        from ottla.streams.spark.offsets import lag_of

        topics = frozenset(topic for query in self._queries for topic in query.topics)
        return lag_of(self.admin, self.application_id, topics)

    @property
    def admin(self) -> SyncAdmin:
        """The application's connection to the cluster."""
        if self._admin is None:
            self._admin = SyncAdmin(self.client)
        return self._admin

    def describe(self) -> str:
        """The queries that Spark runs, and their topics."""
        return "\n".join(
            f"query {query.name}: {', '.join(query.topics) or query.pattern} -> "
            f"{', '.join(sorted(self.plan.written(query))) or '(nothing)'}"
            f"{' (with state)' if query.is_stateful else ''}"
            for query in self._queries
        )

    # --- inside

    def _catch_up(self) -> None:
        self._prepare()
        waiting = list(self._queries)
        while waiting and not self._stopped.is_set():
            for query in waiting:
                self._catch_up_one(query)
            # A query that reads what it writes itself has more to read now.
            written = {topic for query in self._queries for topic in self.plan.written(query)}
            behind = {topic for topic, lag in self.lag().items() if lag and topic in written}
            waiting = [query for query in self._queries if behind.intersection(query.topics)]

    def _catch_up_one(self, query: Query) -> None:
        running = self._started(query, {"availableNow": True})
        self._running.append(running)
        while not running.awaitTermination(1):
            if self._stopped.is_set():
                return
        self._check_failed()
        self._running.remove(running)
        assert self._offsets is not None
        self._offsets.look([running])

    def _watch(self) -> None:
        assert self._offsets is not None
        while not self._stopped.wait(_LOOK_S):
            self._offsets.look(self._running)

    def _prepare(self) -> None:
        from ottla.streams.spark.offsets import GroupOffsets
        from ottla.streams.spark.topics import Topics

        self._stopped.clear()
        Topics(self.plan, self.admin).prepare()
        topics = {query.name: frozenset(query.topics) for query in self._queries}
        self._offsets = GroupOffsets(self.application_id, topics, self.admin)

    def _session(self) -> SparkSession:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise StreamsError(
                f"{self.application_id} runs on Spark, which needs {', '.join(missing)}: "
                "pip install 'ottla[spark,streams]'"
            )
        if self._spark is None:
            from ottla.pipeline import session
            from ottla.streams.spark.session import SETTINGS

            # Workers of tasks get the files by addPyFile; those that Spark starts beside its driver look here alone.
            folders = [str(path.resolve().parent) for path in self._modules]
            known = os.environ.get("PYTHONPATH")
            os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([known] if known else [])])
            self._spark = session(
                self.application_id,
                master=self._master,
                settings={**SETTINGS, **self._spark_settings},
            )
            for path in self._modules:
                self._spark.sparkContext.addPyFile(str(path))
        return self._spark

    def _started(self, query: Query, trigger: Mapping[str, Any]) -> StreamingQuery:
        from ottla.streams.spark.frames import frame_of, written

        options = {f"kafka.{name}": value for name, value in self.client.items()}
        # The lowest offsets of all queries are the group's: one of them alone does not know those.
        source = {**options, "kafka.group.id": self.application_id, "commitOffsets": "false"}
        sink = {
            **options,
            "sinkId": query.name,
            "delivery": self._guarantee,
            "checkpointLocation": self._checkpoint_of(query),
        }
        frame = frame_of(self._session(), self.plan, query, source)
        return written(frame, sink).queryName(query.name).trigger(**trigger).start()

    def _checkpoint_of(self, query: Query) -> str:
        return f"{self.checkpoint.rstrip('/')}/{query.name}"

    def _check_failed(self) -> None:
        for query in self._running:
            error = query.exception()
            if error is not None:
                raise StreamsError(f"{self.application_id}: the query {query.name} failed: {error}")

    def _view(self, name: str) -> StoreView:
        from ottla.streams.spark.views import StoreView

        stores = self.plan.topology.stores
        topic = self.plan.table_topic(stores[name]) if name in stores else None
        if topic is None:
            known = [each for each, store in stores.items() if self.plan.table_topic(store)]
            raise StreamsError(
                f"{self.application_id} has no store {name} that can be read; there are {', '.join(known) or 'none'}"
            )
        return StoreView(stores[name], topic, self.client)


def _default_checkpoint(application_id: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "ottla", "streams", application_id)
