"""Pure: what the leader of a replicated partition knows of its followers, and what follows from it.

The rules, each of which lost records somewhere when it was missing:

- The high watermark counts the *maximal* ISR: the one the controller confirmed, and whoever is being added to it. A
  member that the leader wants to be rid of counts until the controller has agreed.
- A follower joins the ISR when it holds all that is committed and has entered the leader's epoch, and only with the
  broker epoch under which it fetched (KIP-903): a replica that was restarted since may have lost its tail.
- One proposal at a time, never changed once made; it ends with a newer partition epoch, or with a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ottla.cluster.image import PartitionImage
from ottla.cluster.znodes import Bound

_UNKNOWN = -1


class Proposal(NamedTuple):
    """The ISR a leader asks the controller for: (broker id, broker epoch) of each member, and what it is based on.

    `left_end`: what our log held when we knew that state; nobody who had left the ISR by then holds more that counts.
    """

    isr: tuple[tuple[int, int], ...]
    leader_epoch: int
    partition_epoch: int
    left_end: Bound | None = None

    @property
    def members(self) -> tuple[int, ...]:
        """The broker ids alone."""
        return tuple(broker_id for broker_id, _ in self.isr)


class Follower:
    """How far one follower is, as its fetches tell."""

    __slots__ = (
        "broker_epoch",
        "caught_up_ms",
        "end_offset",
        "fetched_ms",
        "leader_end_offset",
        "start_offset",
        "told_high_watermark",
    )

    def __init__(self, caught_up_ms: int) -> None:
        self.start_offset = self.end_offset = _UNKNOWN
        self.broker_epoch = _UNKNOWN
        self.caught_up_ms = caught_up_ms
        self.fetched_ms = 0
        self.leader_end_offset = 0
        self.told_high_watermark = _UNKNOWN

    def fetched(self, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """It asks for `offset`, so it holds everything below.

        It was caught up now if it asks for our end, and at its last fetch if it has since got all that we held then.
        """
        if offset >= leader_end_offset:
            self.caught_up_ms = now_ms
        elif offset >= self.leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset = offset
        self.fetched_ms = now_ms
        self.leader_end_offset = leader_end_offset


class Leadership:
    """One leader epoch of one partition, seen by its leader."""

    __slots__ = (
        "_followers",
        "_me",
        "_placed",
        "_told_epoch",
        "pending",
        "start_offset",
        "tells_at_once",
        "trimmed_to",
    )

    def __init__(self, me: int, placed: PartitionImage, end_offset: int, now_ms: int) -> None:
        self._me = me
        self._placed = placed
        self.start_offset = end_offset
        self.pending: Proposal | None = None
        # Where the log began when records were deleted last: a follower that does not know it would bring them back.
        self.trimmed_to = _UNKNOWN
        # The partition epoch in which we told last what those hold who have left.
        self._told_epoch = _UNKNOWN
        # Whether followers that wait want to hear when the high watermark moves, and not only of records.
        self.tells_at_once = False
        self._followers = {each: Follower(now_ms) for each in placed.replicas if each != me}

    def adopt(self, placed: PartitionImage, now_ms: int) -> None:
        """The controller has confirmed another state of the same leader epoch."""
        self._placed = placed
        if self.pending is not None and placed.partition_epoch > self.pending.partition_epoch:
            self.pending = None
        followers = self._followers
        self._followers = {
            each: followers.get(each) or Follower(now_ms)
            for each in placed.replicas
            if each != self._me
        }

    def fetched(
        self,
        broker_id: int,
        broker_epoch: int,
        offset: int,
        end_offset: int,
        now_ms: int,
        log_start_offset: int = _UNKNOWN,
    ) -> bool:
        """A follower fetches from `offset` on; False if this broker is no replica, or an earlier life of one.

        One that has not registered is in no life yet that the tree knows of: what it holds does not count.
        """
        follower = self._followers.get(broker_id)
        if follower is None or broker_epoch < max(follower.broker_epoch, 0):
            return False
        follower.broker_epoch = broker_epoch
        follower.start_offset = log_start_offset
        follower.fetched(offset, end_offset, now_ms)
        return True

    def is_trimmed_to(self, offset: int) -> bool:
        """Return whether every member of the maximal ISR begins at an offset, or behind it."""
        return all(
            self._followers[each].start_offset >= offset
            for each in self._maximal_isr()
            if each in self._followers
        )

    def committed_end(self, own_end_offset: int) -> int:
        """What every member of the maximal ISR holds; below 0 while one of them has not been heard of."""
        followers = self._followers
        ends = [followers[each].end_offset for each in self._maximal_isr() if each in followers]
        return min(own_end_offset, *ends) if ends else own_end_offset

    def _maximal_isr(self) -> set[int]:
        members = set(self._placed.isr)
        if self.pending is not None:
            members.update(self.pending.members)
        return members

    def expansion(self, high_watermark: int, epochs: Mapping[int, int]) -> Proposal | None:
        """Ask for whoever has caught up; `epochs` are those of the brokers that are registered now."""
        if self.pending is not None:
            return None
        joining = {
            each
            for each, follower in self._followers.items()
            if each not in self._placed.isr
            and follower.end_offset >= max(high_watermark, self.start_offset)
            and follower.start_offset >= self.trimmed_to
            and epochs.get(each) == follower.broker_epoch
        }
        return self._propose({*self._placed.isr, *joining}, epochs) if joining else None

    def shrinking(
        self, end_offset: int, epochs: Mapping[int, int], max_lag_ms: int, now_ms: int
    ) -> Proposal | None:
        """Ask to be rid of those who have not been caught up for longer than `replica.lag.time.max.ms`."""
        if self.pending is not None:
            return None
        lagging = {
            each
            for each in self._placed.isr
            if (follower := self._followers.get(each)) is not None
            and follower.end_offset != end_offset
            and now_ms - follower.caught_up_ms > max_lag_ms
        }
        return self._propose(set(self._placed.isr) - lagging, epochs) if lagging else None

    def news_of_who_left(self, last_epoch: int, end_offset: int) -> Proposal | None:
        """Say, once for each state that asks, what those hold at most who left: our log has all that is committed.

        Without it no controller could know, after an outage of everybody, that the partition went on without them.
        """
        placed = self._placed
        if self.pending is not None or self._told_epoch == placed.partition_epoch:
            return None
        if None not in placed.left.values():
            return None
        self._told_epoch = placed.partition_epoch
        isr = tuple((each, _UNKNOWN) for each in placed.isr)
        epochs = placed.leader_epoch, placed.partition_epoch
        self.pending = Proposal(isr, *epochs, (last_epoch, end_offset))
        return self.pending

    def refused(self, proposal: Proposal) -> None:
        """The controller will not have it: go on from what is confirmed."""
        if self.pending == proposal:
            self.pending = None

    def tell(self, broker_id: int, high_watermark: int) -> bool:
        """A follower is about to be told the high watermark; whether that is news to it."""
        self.tells_at_once = True
        follower = self._followers.get(broker_id)
        if follower is None or follower.told_high_watermark >= high_watermark:
            return False
        follower.told_high_watermark = high_watermark
        return True

    def end_offset_of(self, broker_id: int) -> int:
        """How far a follower is; -1 if it has not been heard of."""
        follower = self._followers.get(broker_id)
        return _UNKNOWN if follower is None else follower.end_offset

    def _propose(self, members: set[int], epochs: Mapping[int, int]) -> Proposal:
        placed = self._placed
        ordered = [each for each in placed.replicas if each in members]
        isr = tuple((each, self._epoch_of(each, epochs)) for each in ordered)
        self.pending = Proposal(isr, placed.leader_epoch, placed.partition_epoch)
        return self.pending

    def _epoch_of(self, broker_id: int, epochs: Mapping[int, int]) -> int:
        """The epoch a member fetched under, ours as registered; unknown for one that has not been heard of.

        Such a one can only stay: the controller sees by its life whether it may.
        """
        follower = self._followers.get(broker_id)
        return epochs.get(broker_id, _UNKNOWN) if follower is None else follower.broker_epoch
