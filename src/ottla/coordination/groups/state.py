"""Pure: the states of a classic group, what each means, and which may follow which."""

from __future__ import annotations

from enum import Enum
from typing import Final


class GroupState(Enum):
    """Where a classic group is between two assignments; the values are Kafka's words.

    Empty
        No members. A group begins here, and is here again when the last one has left; its offsets may expire, and a
        group without offsets dies at the next check. Anybody may commit without being a member. The first join leads
        to PreparingRebalance, where the group waits a little for others who start at the same time.

    PreparingRebalance
        Members are gathered. A join is held until every member has joined anew, or the longest rebalance time-out of
        them has passed: whoever has not come by then is out, except static members, who keep their place. Heartbeats
        and syncs are answered REBALANCE_IN_PROGRESS, which is how members learn that they must join. With members it
        leads to CompletingRebalance and a new generation, without them to Empty.

    CompletingRebalance
        All joins have been answered and the leader works out who gets what. Syncs are held until the leader's arrives;
        its assignment is written down, and the group is Stable. Commits are refused, since members do not know yet
        what they own. A member that joins, leaves or fails leads back to PreparingRebalance, and so does one who does
        not sync in time.

    Stable
        Everybody has an assignment and says by heartbeats that it lives. A join that changes something (a new member,
        other metadata, or the leader, who has seen the topics change), a leave and an expired session lead to
        PreparingRebalance. A static member that comes back takes its old place, and nobody else notices.

    Dead
        The group has been erased: deleted by a client, or empty and without offsets. It is no longer found; whoever
        still holds it is told COORDINATOR_NOT_AVAILABLE and looks again.
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


FOLLOWS: Final[dict[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.COMPLETING_REBALANCE, GroupState.EMPTY, GroupState.DEAD}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset(
        {GroupState.STABLE, GroupState.PREPARING_REBALANCE, GroupState.DEAD}
    ),
    GroupState.STABLE: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.DEAD: frozenset(),
}
"""What may come after a state in a running group; replaying a log may jump."""
