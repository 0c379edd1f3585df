"""kafka-broker-api-versions: which APIs each broker serves, and in which versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.options import Command, Given
from ottla.client.administration.brokers import Brokers
from ottla.protocol.api_keys import ApiKey

COMMAND = Command(
    "kafka-broker-api-versions",
    "Tells which APIs each broker serves, and in which versions.",
    (BOOTSTRAP_SERVER, COMMAND_CONFIG),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-broker-api-versions; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    given.require("bootstrap-server")
    with_admin(Brokers, given, _print_versions)
    return 0


async def _print_versions(admin: Brokers) -> None:
    for broker in (await admin.describe_cluster()).brokers:
        served = (await admin.api_versions(broker.id)).versions
        title = f"{broker.host}:{broker.port} (id: {broker.id} rack: {broker.rack or 'null'}"
        lines = ",\n\t".join(_lines(served))
        print(f"{title} isFenced: {'true' if broker.fenced else 'false'}) -> (\n\t{lines}\n)")


def _lines(served: Mapping[int, tuple[int, int]]) -> Iterator[str]:
    """One line for each API; those that only brokers or only ottla use are not missed."""
    known = {int(key): key for key in ApiKey}
    expected = {int(key) for key in ApiKey if not key.is_own and key is not ApiKey.ALTER_PARTITION}
    for number in sorted({*expected, *served}):
        key = known.get(number)
        if key is None:
            lowest, highest = served[number]
            yield f"UNKNOWN({number}): {_range(lowest, highest)}"
        elif number not in served:
            yield f"{key.api_name}({number}): UNSUPPORTED"
        else:
            lowest, highest = served[number]
            usable = min(highest, key.last_version)
            yield f"{key.api_name}({number}): {_range(lowest, highest)} [usable: {usable}]"


def _range(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"
