"""Pure: a decision in the making: steps add records and replies to it one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.base.errors import ApiError
from ottla.coordination.decision import Decision, KeyValue, Token, Undo


class Effects:
    """What a step of a machine brings about, at the time it is taken."""

    __slots__ = ("now_ms", "records", "replay", "replies", "undo")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.records: list[KeyValue] = []
        self.replies: list[tuple[Token, Any]] = []
        self.undo: Undo | None = None
        self.replay: Callable[[], None] | None = None

    def reply(self, token: Token, value: Any) -> None:
        """Answer somebody."""
        self.replies.append((token, value))

    def refuse(self, token: Token, code: int, message: str = "") -> None:
        """Tell somebody why not."""
        self.replies.append((token, ApiError(code, message)))

    def decision(self) -> Decision:
        """All of it."""
        return Decision(self.records, self.replies, None, self.undo, self.replay)
