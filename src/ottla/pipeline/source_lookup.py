"""What the driver asks the brokers: which partitions there are, and their offsets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError, ConfigError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Outcome
from ottla.client.administration.offsets import ListedOffset
from ottla.client.errors import api_error, error_code
from ottla.client.settings import AdminSettings, is_known
from ottla.client.sync_admin import SyncAdmin
from ottla.client.view import Topic
from ottla.pipeline.offsets import EARLIEST, LATEST, Bound, Offsets, TopicIds, names
from ottla.pipeline.source_options import SourceOptions
from ottla.protocol.errors import ErrorCode

NO_RECORD_AS_LATE: Final = -1
_SETTLING_S: Final = 1.0
_LOOK_AGAIN_S: Final = 0.1


class Resolved(NamedTuple):
    """Offsets, and in which partitions they are the end of the log as it is now."""

    offsets: Offsets
    at_end: frozenset[TopicPartition]


class Lookup:
    """One connection of the driver to the cluster, and the subscription it resolves."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.admin = SyncAdmin(_admin_settings(options))
        self._partitions: list[TopicPartition] = []
        self._topic_ids: dict[str, UUID] = {}
        self._looked_at = -float("inf")
        self._absent: set[str] = set()

    def close(self) -> None:
        """Close all connections."""
        self.admin.close()

    def partitions(self) -> list[TopicPartition]:
        """The partitions that are subscribed to, as they are now."""
        age_ms = (time.monotonic() - self._looked_at) * 1000
        if age_ms > self.options.metadata_ttl_ms:
            self._partitions = sorted(self._assigned())
            self._looked_at = time.monotonic()
        return self._partitions

    def topic_ids(self) -> TopicIds:
        """The ids of the topics that were found by the last look at partitions; Kafka before 2.8 has none."""
        return self._topic_ids

    def _assigned(self) -> list[TopicPartition]:
        options = self.options
        if options.assign is not None:
            found = self._identified(self._topics({each.topic for each in options.assign}))
            there = {TopicPartition(t.name, p.index) for t in found for p in t.partitions}
            missing = set(options.assign) - there
            if missing and options.fail_on_data_loss:
                raise OttlaError(f"there is no partition {names(missing)}; see the option assign")
            return [each for each in options.assign if each in there]
        if options.subscribe is not None:
            wanted = self._topics(options.subscribe)
        else:
            pattern = re.compile(options.subscribe_pattern or "")
            listed = self._all_topics()
            wanted = [t for t in listed if pattern.fullmatch(t.name) and not t.internal]
        found = self._identified(wanted)
        return [TopicPartition(topic.name, p.index) for topic in found for p in topic.partitions]

    def _identified(self, topics: list[Topic]) -> list[Topic]:
        self._topic_ids = {topic.name: topic.id for topic in topics if topic.id.int}
        return topics

    def _topics(self, wanted: Iterable[str]) -> list[Topic]:
        found = self._settled(sorted(wanted))
        for topic in found:
            if topic.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                if self.options.fail_on_data_loss:
                    raise OttlaError(self._missing(f"topic {topic.name}"))
            elif topic.error:
                raise api_error(
                    topic.error, f"topic {topic.name}: {error_code(topic.error).message}"
                )
        return [topic for topic in found if not topic.error]

    def _settled(self, wanted: list[str]) -> list[Topic]:
        """The topics; what is wrong with one may pass, as while a leader is elected or word spreads.

        One that was waited for in vain is not waited for with each look of a stream that goes on without it.
        """
        deadline = time.monotonic() + _SETTLING_S
        while True:
            view = self._refreshed(wanted)
            found = [view.topics[name] for name in wanted if name in view.topics]
            wrong = {t.name for t in found if t.error and error_code(t.error).retriable}
            if not wrong - self._absent or time.monotonic() > deadline:
                self._absent = wrong
                return found
            time.sleep(_LOOK_AGAIN_S)

    def _missing(self, what: str) -> str:
        return (
            f"there is no {what} at {self.options.bootstrap_servers}; create it, or check the "
            "option that names it (if it was deleted while a query ran, start the query with another "
            "checkpointLocation, or with failOnDataLoss=false)"
        )

    def _all_topics(self) -> list[Topic]:
        return [each for each in self._refreshed(None).topics.values() if not each.error]

    def _refreshed(self, topics: list[str] | None) -> Any:
        cluster = self.admin.twin.cluster
        return self.admin.thread.run(cluster.retried(lambda: cluster.refresh(topics)))

    # --- offsets: of a partition that was deleted meanwhile there are none, unless that is an error

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The first offsets there are."""
        return self._listed(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The ends of partitions; under read_committed, of what is decided."""
        return self._listed(dict.fromkeys(partitions, LATEST))

    def log_ends(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The ends of partitions, undecided transactions included."""
        return self._listed(dict.fromkeys(partitions, LATEST), read_committed=False)

    def since(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """The first offsets at or after times in ms, NO_RECORD_AS_LATE where there are none."""
        return self._listed(times)

    def resolved(self, option: str, bound: Bound, strategy: str) -> Resolved:
        """The offsets that a bound means; where no record is as late as its time, by strategy."""
        wanted = _for_each(option, bound, self.partitions())
        if not bound.by_time:
            ends = self._listed({each: end for each, end in wanted.items() if end < 0})
            named = {each: offset for each, offset in wanted.items() if offset >= 0}
            at_end = frozenset(each for each in ends if wanted[each] == LATEST)
            return Resolved(named | ends, at_end)
        found = self.since(wanted)
        late = [each for each, offset in found.items() if offset == NO_RECORD_AS_LATE]
        if late and strategy == "error":
            raise ConfigError(
                option,
                None,
                f"no record of {names(late)} is as late as that; choose an earlier time, or set "
                "startingOffsetsByTimestampStrategy to latest",
            )
        return Resolved(found | self.latest(late), frozenset(late))

    def _listed(
        self, wanted: Mapping[TopicPartition, int], read_committed: bool | None = None
    ) -> Offsets:
        if not wanted:
            return {}
        offsets: Offsets = {}
        decided = self.options.read_committed if read_committed is None else read_committed
        for partition, outcome in self._asked(wanted, decided).items():
            if not isinstance(outcome, ApiError):
                offsets[partition] = outcome.offset
            elif not _is_unknown(outcome):
                raise ApiError(outcome.code, f"offsets of {partition}: {outcome}")
            elif self.options.fail_on_data_loss:
                raise OttlaError(self._missing(f"partition {partition}"))
        return offsets

    def _asked(
        self, wanted: Mapping[TopicPartition, int], read_committed: bool
    ) -> dict[TopicPartition, Outcome[ListedOffset]]:
        """What leaders answer; one that does not know its partition yet is asked again."""
        deadline = time.monotonic() + _SETTLING_S
        while True:
            found = self.admin.list_offsets(wanted, read_committed=read_committed)
            if not any(map(_is_unknown, found.values())) or time.monotonic() > deadline:
                return found
            time.sleep(_LOOK_AGAIN_S)


def _is_unknown(outcome: object) -> bool:
    return isinstance(outcome, ApiError) and outcome.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _for_each(option: str, bound: Bound, partitions: list[TopicPartition]) -> Offsets:
    if bound.everywhere is not None:
        return dict.fromkeys(partitions, bound.everywhere)
    missing = set(partitions) - set(bound.each)
    strangers = set(bound.each) - set(partitions)
    if missing:
        raise ConfigError(
            option, None, f"must name every partition; there is nothing for {names(missing)}"
        )
    if strangers:
        raise ConfigError(option, None, f"names {names(strangers)}, which is not subscribed to")
    return dict(bound.each)


def _admin_settings(options: SourceOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {
        name: text for name, text in options.client.items() if is_known(AdminSettings, name)
    }
    if options.offset_retries is not None:
        settings["retries"] = options.offset_retries
    if options.offset_retry_ms is not None:
        settings["retry.backoff.ms"] = options.offset_retry_ms
    return settings
