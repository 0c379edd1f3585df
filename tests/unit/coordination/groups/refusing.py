"""A log that takes nothing, as the runtime of a coordinator meets it."""

from ottla.base.errors import ApiError
from ottla.coordination.decision import Decision
from ottla.protocol.errors import ErrorCode

REFUSED = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def refused_by_log(decision: Decision, now_ms: int) -> Decision:
    """Tell those who asked, and have what went ahead undone; what is to be carried out for that."""
    for token, _ in decision.replies:
        token(REFUSED)
    return Decision() if decision.undo is None else decision.undo(REFUSED, now_ms)
