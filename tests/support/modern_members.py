"""Members of consumer groups that speak the consumer protocol (KIP-848), and one as a process that can be killed."""

import json
import sys
import threading
from typing import Any

from tests.support.member_processes import Child, Java, MemberProcess, run_member
from tests.support.members import Confluent

CLOSE_S = 10.0


class Modern(Confluent):
    """librdkafka with `group.protocol=consumer`: sessions, heartbeats and assignors are the broker's affair."""

    CLASSIC = False

    def close(self) -> None:
        """Leave, and wait no longer than that takes.

        librdkafka 2.16 waits for ever if it is given partitions while it closes: its rebalance callback, which
        `close` serves, assigns them by an operation that nobody serves any more.
        """
        closing = threading.Thread(target=self.client.close, daemon=True)
        closing.start()
        closing.join(CLOSE_S)


class ModernChild(Child):
    """The same in a process of its own."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        arguments = ["modern", bootstrap, group, topic, json.dumps(settings)]
        MemberProcess.__init__(
            self, [sys.executable, "-m", "tests.support.modern_members", *arguments]
        )


class ModernJava(Java):
    """Kafka's own client with that protocol."""

    CLASSIC = False


if __name__ == "__main__":
    run_member({"modern": Modern}, sys.argv[1:])
