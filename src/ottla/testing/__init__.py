"""Real brokers for test-suites: a pytest plugin, and context managers for those without pytest.

    with ottla.testing.Broker() as broker:
        producer = ottla.Producer({"bootstrap.servers": broker.bootstrap_servers})

pytest is imported by the plugin alone. The rest is imported when it is first used: the process of a
broker has no use for what starts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.cluster import Cluster
    from ottla.testing.faults import Faults, Rule
    from ottla.testing.process import BrokerFailed
    from ottla.testing.topics import Topic

_WHERE = {
    "Broker": "broker",
    "BrokerFailed": "process",
    "Cluster": "cluster",
    "Faults": "faults",
    "Rule": "faults",
    "Topic": "topics",
}

__all__ = ["Broker", "BrokerFailed", "Cluster", "Faults", "Rule", "Topic"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ottla.testing' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"ottla.testing.{_WHERE[name]}"), name)
    return found
