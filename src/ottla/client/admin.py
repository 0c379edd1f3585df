"""`Admin`, the admin client: everything that can be asked of a cluster, in one class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ottla.client.administration.base import Administration

VERBS: Final = {
    "topics.Topics": (
        "list_topics",
        "describe_topics",
        "create_topics",
        "try_to_create_topics",
        "delete_topics",
        "create_partitions",
    ),
    "configs.Configs": ("describe_configs", "alter_configs", "list_config_resources"),
    "offsets.Offsets": ("list_offsets", "delete_records"),
    "brokers.Brokers": (
        "describe_cluster",
        "api_versions",
        "describe_log_dirs",
        "alter_replica_log_dirs",
        "update_features",
        "unregister_broker",
    ),
    "placement.Placement": (
        "elect_leaders",
        "alter_partition_reassignments",
        "list_partition_reassignments",
    ),
    "groups.Groups": ("list_groups", "describe_groups", "delete_groups", "remove_members"),
    "group_offsets.GroupOffsets": (
        "list_group_offsets",
        "alter_group_offsets",
        "delete_group_offsets",
    ),
    "transactions.Transactions": (
        "list_transactions",
        "describe_transactions",
        "describe_producers",
        "abort_transaction",
        "fence_producers",
    ),
    "replicas.Replicas": ("describe_replicas",),
    "sinks.Sinks": ("list_sinks", "describe_sinks", "abort_sink", "reset_sink"),
    "access.Access": ("describe_acls", "create_acls", "delete_acls"),
    "quotas.Quotas": ("describe_client_quotas", "alter_client_quotas"),
    "credentials.Credentials": (
        "describe_user_scram_credentials",
        "alter_user_scram_credentials",
    ),
}
"""All that an admin client can do, by the class under `administration` that does it."""

_CLASS_OF: Final = {verb: name for name, verbs in VERBS.items() for verb in verbs}

if TYPE_CHECKING:
    from ottla.client.administration.access import Access
    from ottla.client.administration.brokers import Brokers
    from ottla.client.administration.configs import Configs
    from ottla.client.administration.credentials import Credentials
    from ottla.client.administration.group_offsets import GroupOffsets
    from ottla.client.administration.groups import Groups
    from ottla.client.administration.offsets import Offsets
    from ottla.client.administration.placement import Placement
    from ottla.client.administration.quotas import Quotas
    from ottla.client.administration.replicas import Replicas
    from ottla.client.administration.sinks import Sinks
    from ottla.client.administration.topics import Topics
    from ottla.client.administration.transactions import Transactions

    class _Verbs(
        Topics,
        Configs,
        Offsets,
        Brokers,
        Placement,
        Groups,
        GroupOffsets,
        Transactions,
        Replicas,
        Sinks,
        Access,
        Quotas,
        Credentials,
    ):
        """What `Admin` looks like to a type checker."""

else:

    class _Verbs(Administration):
        """Imports a class when one of its verbs is first used: a command uses few, and starts sooner."""

        def __getattr__(self, verb: str) -> Any:
            if verb not in _CLASS_OF:
                raise AttributeError(f"an admin client cannot {verb}")
            module, _, name = _CLASS_OF[verb].partition(".")
            found = getattr(import_module(f"ottla.client.administration.{module}"), name)
            method = getattr(found.sharing(self), verb)
            setattr(self, verb, method)
            return method


class Admin(_Verbs):
    """An admin client: `async with AsyncAdmin(bootstrap_servers="localhost:9092") as admin`.

    Methods about several things return a dict with a value, or an ApiError, for each of them; `create_topics` raises.
    """

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_CLASS_OF]
