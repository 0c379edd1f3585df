"""kafka-configs: describes and changes the settings of topics, brokers, groups, users and clients."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, complain, run, sentence
from ottla.cli.kafka.connect import read_properties, with_admin
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError

ENTITY_TYPES: Final = (
    "topics",
    "clients",
    "users",
    "brokers",
    "ips",
    "client-metrics",
    "groups",
    "broker-loggers",
)
# The option that names one entity of a type, and the one that means all that have no settings of their own.
_SHORT: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
_SHORT_DEFAULTS: Final = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
_WITH_DEFAULT: Final = frozenset(_SHORT_DEFAULTS.values())
_QUOTA_TYPES: Final = ("users", "clients", "ips")
DEFAULT_ENTITY: Final = ""


def _settings_help() -> str:
    from ottla.config.group import GROUP_SETTINGS
    from ottla.config.log import TOPIC_SETTINGS

    names = "\n".join(f"\t{name}" for name in sorted(TOPIC_SETTINGS))
    return (
        "Settings to change: 'k1=v1,k2=[v1,v2,v2],k3=v3', with square brackets around a value "
        f"that has commas. Topics have these:\n{names}\nkafka-configs --describe --all shows those "
        f"of brokers. Groups have {' and '.join(GROUP_SETTINGS)}. Users and clients have quotas: "
        "producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate; users "
        "also SCRAM-SHA-256 and SCRAM-SHA-512; addresses connection_creation_rate."
    )


COMMAND = Command(
    "kafka-configs",
    "Describes and changes the settings of topics, brokers, groups, users, clients and addresses.",
    (
        BOOTSTRAP_SERVER,
        Option(
            "bootstrap-controller",
            "Controllers to ask in place of brokers; not served.",
            "String: controller to connect to",
        ),
        COMMAND_CONFIG,
        Option("alter", "Change settings."),
        Option("describe", "Show settings."),
        Option("all", "With --describe: also what was never changed."),
        Option("add-config", _settings_help, "String"),
        Option("add-config-file", "A properties file with settings to change.", "String"),
        Option("delete-config", "Settings to put back to their default: 'k1,k2'.", "String"),
        Option(
            "entity-type",
            "Whose settings: topics, clients, users, brokers, broker-loggers, ips, "
            "client-metrics or groups.",
            "String",
        ),
        Option(
            "entity-name",
            "The name of a topic, client, user, group or metric, the id of a broker, "
            "or an address.",
            "String",
        ),
        Option(
            "entity-default",
            "What holds for clients, users, brokers or addresses without own settings.",
        ),
        Option("topic", "The topic's name.", "String"),
        Option("client", "The client's id.", "String"),
        Option("client-defaults", "What holds for all clients."),
        Option("user", "The user's name.", "String"),
        Option("user-defaults", "What holds for all users."),
        Option("broker", "The broker's id.", "String"),
        Option("broker-defaults", "What holds for all brokers."),
        Option("broker-logger", "The id of the broker whose loggers are meant.", "String"),
        Option("ip", "The address.", "String"),
        Option("ip-defaults", "What holds for all addresses."),
        Option("client-metrics", "The name of a subscription to clients' metrics.", "String"),
        Option("group", "The group's id.", "String"),
    ),
)


class Entities(NamedTuple):
    """Whose settings are meant: types, and as many names or fewer; an empty name is the default."""

    types: list[str]
    names: list[str]

    @property
    def title(self) -> str:
        """A line's worth of what was changed."""
        if self.names[0] == DEFAULT_ENTITY:
            return f"default config for {self.types[0]} in the cluster"
        return f"config for {self.types[0].removesuffix('s')} {self.names[0]}"


class Changes(NamedTuple):
    """What to set and what to put back."""

    added: dict[str, str]
    deleted: list[str]


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-configs; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    return run(COMMAND, lambda given: _execute(given, words), words)


def _execute(given: Given, words: Sequence[str]) -> int:
    entities = _check(given)
    try:
        if given.has("describe"):
            _describe(given, entities)
        else:
            _alter(given, entities, _changes(given))
            print(f"Completed updating {entities.title}.")
        return 0
    except Failed:
        raise
    except (OttlaError, OSError) as failure:
        title = f"Error while executing config command with args '{' '.join(words)}'"
        complain(f"{title}\n{sentence(failure)}")
        return 1


def _describe(given: Given, entities: Entities) -> None:
    if entities.types[0] in _QUOTA_TYPES:
        from ottla.cli.kafka.quota_configs import QuotaAdmin, describe_quotas

        with_admin(QuotaAdmin, given, lambda admin: describe_quotas(admin, entities))
    else:
        from ottla.cli.kafka.resource_configs import ConfigAdmin, describe_resources

        every = given.has("all")
        with_admin(ConfigAdmin, given, lambda admin: describe_resources(admin, entities, every))


def _alter(given: Given, entities: Entities, changes: Changes) -> None:
    if entities.types[0] in _QUOTA_TYPES:
        from ottla.cli.kafka.quota_configs import QuotaAdmin, alter_quotas

        with_admin(QuotaAdmin, given, lambda admin: alter_quotas(admin, entities, changes))
    else:
        from ottla.cli.kafka.resource_configs import ConfigAdmin, alter_resource

        with_admin(ConfigAdmin, given, lambda admin: alter_resource(admin, entities, changes))


def _check(given: Given) -> Entities:
    if given.has("alter") == given.has("describe"):
        raise UsageError("Command must include exactly one action: --describe, --alter")
    given.exclude("describe", ("add-config", "delete-config"))
    entities = _entities(given)
    _check_servers(given)
    _check_types(entities.types)
    generic = any(map(given.has, ("entity-name", "entity-type", "entity-default")))
    if generic and any(map(given.has, (*_SHORT, *_SHORT_DEFAULTS))):
        raise Failed(
            "--entity-{type,name,default} should not be used in conjunction with specific "
            "entity flags"
        )
    for kind, name in zip(entities.types, entities.names, strict=False):
        if kind.startswith("broker") and name != DEFAULT_ENTITY and not name.isdecimal():
            raise Failed(
                f"The entity name for {kind} must be a valid integer broker id, but it is: {name}"
            )
    if given.has("alter"):
        _check_alter(given, entities)
    elif given.has("entity-default") and not _WITH_DEFAULT.issuperset(entities.types):
        raise Failed(
            f"--entity-default must not be specified with --describe of {','.join(entities.types)}"
        )
    return entities


def _check_servers(given: Given) -> None:
    if given.has("bootstrap-controller"):
        raise Failed(
            "--bootstrap-controller: brokers answer for everything; use --bootstrap-server"
        )
    if not given.has("bootstrap-server"):
        raise Failed("Either --bootstrap-server or --bootstrap-controller must be specified.")


def _check_types(types: Sequence[str]) -> None:
    twice = sorted({kind for kind in types if types.count(kind) > 1})
    if twice:
        raise Failed(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for kind in types:
        if kind not in ENTITY_TYPES:
            raise Failed(
                f"Invalid entity type {kind}, the entity type must be one of "
                f"{', '.join(ENTITY_TYPES)} with a --bootstrap-server or --bootstrap-controller "
                "argument"
            )
    if not types:
        raise Failed("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise Failed("Only 'users' and 'clients' entity types may be specified together")


def _check_alter(given: Given, entities: Entities) -> None:
    types = ",".join(entities.types)
    if _WITH_DEFAULT.issuperset(entities.types):
        if len(entities.names) != len(entities.types):
            raise Failed(
                "An entity-name or default entity must be specified with --alter of users, "
                "clients, brokers or ips"
            )
    elif not any(entities.names):
        raise Failed(f"An entity name must be specified with --alter of {types}")
    elif DEFAULT_ENTITY in entities.names:
        raise Failed(f"--entity-default must not be specified with --alter of {types}")
    if not any(map(given.has, ("add-config", "add-config-file", "delete-config"))):
        raise Failed(
            "At least one of --add-config, --add-config-file, or --delete-config must be "
            "specified with --alter"
        )
    if given.has("add-config") and given.has("add-config-file"):
        raise Failed("Only one of --add-config or --add-config-file must be specified")


def _entities(given: Given) -> Entities:
    types = list(given.values("entity-type"))
    names = list(given.values("entity-name"))
    if given.has("entity-default"):
        names.append(DEFAULT_ENTITY)
    for option, kind in _SHORT.items():
        if given.has(option):
            types.append(kind)
            names.append(given.value(option) or "")
    for option, kind in _SHORT_DEFAULTS.items():
        if given.has(option):
            types.append(kind)
            names.append(DEFAULT_ENTITY)
    return Entities(types, names)


def _changes(given: Given) -> Changes:
    file = given.value("add-config-file")
    added = read_properties(file) if file is not None else parse_added(given.value("add-config"))
    deleted = (given.value("delete-config") or "").split(",")
    return Changes(added, [name.strip() for name in deleted if name.strip()])


# A comma or an equals sign that is not inside of square brackets.
_COMMA: Final = re.compile(r",(?=[^\]]*(?:\[|$))")
_EQUALS: Final = re.compile(r"\s*=\s*(?=[^\]]*(?:\[|$))")


def parse_added(text: str | None) -> dict[str, str]:
    """The settings of `k1=v1,k2=[v1,v2]`."""
    if text is None:
        return {}
    added = {}
    for part in _COMMA.split(text):
        pair = _EQUALS.split(part)
        if len(pair) != 2:
            raise Failed(
                "requirement failed: Invalid entity config: all configs to be added must be in the "
                'format "key=val" or  "key=[val1,val2]" to group values which contain commas.'
            )
        added[pair[0].strip()] = pair[1].replace("[", "").replace("]", "").strip()
    return added
