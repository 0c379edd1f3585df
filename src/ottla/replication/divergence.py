"""Pure: where a follower cuts its log when it differs from its leader's (KIP-101, KIP-279, KIP-595).

Never by the high watermark: a follower learns of that late, and two fail-overs in a row would lose what was committed.
"""

from __future__ import annotations

from ottla.storage.epochs import LeaderEpochs


def truncation_offset(
    epochs: LeaderEpochs, end_offset: int, leader_epoch: int, leader_end_offset: int
) -> int:
    """Where to cut, given the greatest epoch that the leader shares with what was fetched last, and its end there.

    If we do not know that epoch, we cut where the one before it ends; the next fetch names that one, and the leader
    answers again, until both agree.
    """
    epoch, own_end_offset = epochs.end_offset_for(leader_epoch, end_offset)
    if epoch < 0:  # we have not come that far, or know no epochs at all
        own_end_offset = end_offset
    return min(own_end_offset, leader_end_offset, end_offset)
