"""Pure: one session with ZooKeeper, and when it must be taken for lost.

A client that is cut off never hears that its session has ended: the server can tell it only after
a reconnect. So the end is computed here. The server counts the time-out from the last message that
reached it, and whatever it answered had reached it: the lease therefore runs from the moment the
latest answered message was *sent*. It ends here before it ends there, by the time of travel.
"""

from ottla.cluster.tree import SessionState


class Session:
    """A session as this side must see it; times are of a clock that never jumps."""

    __slots__ = ("heard_ms", "session_id", "state", "timeout_ms")

    def __init__(self) -> None:
        self.state = SessionState.LOST
        self.session_id = 0
        self.timeout_ms = 0
        self.heard_ms = 0

    @property
    def ends_ms(self) -> int:
        """When the session must be taken for lost, unless something is heard until then."""
        return self.heard_ms + self.timeout_ms

    def heard(self, sent_ms: int) -> None:
        """Notes that a message sent at this time was answered."""
        self.heard_ms = max(self.heard_ms, sent_ms)

    def connected(self, session_id: int, timeout_ms: int, sent_ms: int) -> None:
        """Notes a connection, made or resumed, with the time-out that the server has set."""
        self.session_id = session_id
        self.timeout_ms = timeout_ms
        self.heard(sent_ms)
        self.state = SessionState.CONNECTED

    def disconnected(self, now_ms: int) -> None:
        """Notes that the connection broke; the session may go on."""
        if self.state is SessionState.CONNECTED:
            self.state = SessionState.SUSPENDED
        self.tick(now_ms)

    def expired(self) -> None:
        """Notes that the server has ended the session."""
        self.state = SessionState.LOST

    def tick(self, now_ms: int) -> SessionState:
        """Returns the state at this time, however long nobody asked."""
        if now_ms >= self.ends_ms:
            self.state = SessionState.LOST
        return self.state
