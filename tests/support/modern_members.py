"""Members of consumer groups that speak the consumer protocol (KIP-848), and one as a process that can be killed."""

import json
import sys
from typing import Any

from tests.support.members import CLIENTS, Confluent, Java, _main, _Process


class Modern(Confluent):
    """librdkafka with `group.protocol=consumer`: sessions, heartbeats and assignors are the broker's affair."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        from confluent_kafka import Consumer

        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.records: list[tuple[int, int, bytes]] = []
        self.rebalances: list[str] = []
        self.client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 1000,
                **named,
            }
        )
        self.client.subscribe(
            [topic],
            on_assign=lambda _, parts: self.rebalances.append(f"+{len(parts)}"),
            on_revoke=lambda _, parts: self.rebalances.append(f"-{len(parts)}"),
        )


class ModernChild(_Process):
    """The same in a process of its own."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        arguments = ["modern", bootstrap, group, topic, json.dumps(settings)]
        super().__init__([sys.executable, "-m", "tests.support.modern_members", *arguments])


class ModernJava(Java):
    """Kafka's own VerifiableConsumer with that protocol."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        from tools.apache_kafka import TOOL_JVM_OPTIONS, java_command

        options = {
            "--bootstrap-server": bootstrap,
            "--group-id": group,
            "--topic": topic,
            "--group-protocol": "consumer",
        }
        arguments = [part for option in options.items() for part in option]
        name = "org.apache.kafka.tools.VerifiableConsumer"
        command = java_command(TOOL_JVM_OPTIONS, name, [*arguments, "--verbose"])
        _Process.__init__(self, command)


if __name__ == "__main__":
    CLIENTS["modern"] = Modern
    _main(*sys.argv[1:])
