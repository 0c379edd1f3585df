"""The pytest plugin: `ottla_broker`, `ottla_topic`, `ottla_topics` and `ottla_cluster`.

It is loaded wherever ottla and pytest are installed, so it imports the rest only when a fixture is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.cluster import Cluster
    from ottla.testing.report import Watched
    from ottla.testing.topics import Topic

_FIXTURES = {"ottla_broker", "ottla_topic", "ottla_topics", "ottla_cluster"}
_WATCHED: pytest.StashKey[list[Watched]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and watch no broker yet."""
    config.stash[_WATCHED] = []
    config.addinivalue_line(
        "markers",
        "ottla_topic(partitions=1, **configs): how the topic of the fixture ottla_topic is made, "
        'for instance ottla_topic(partitions=3, cleanup_policy="compact")',
    )


@pytest.fixture(scope="session")
def ottla_settings() -> dict[str, object]:
    """Settings of the brokers, by Kafka's names: override this fixture to have others than the defaults."""
    return {}


@pytest.fixture(scope="session")
def ottla_broker(
    ottla_settings: dict[str, object], pytestconfig: pytest.Config
) -> Iterator[Broker]:
    """A real broker for the session, in a process of its own on a free port: `ottla_broker.bootstrap_servers`."""
    from ottla.testing.broker import Broker

    with Broker(ottla_settings) as broker, _watching(pytestconfig, "ottla_broker", [broker]):
        yield broker


@pytest.fixture
def ottla_topics(
    ottla_broker: Broker, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Topic]]:
    """Makes topics of this test's own: `ottla_topics(partitions=3, retention_ms=1000)`."""
    from ottla.testing.topics import delete_topics, fresh_name

    made: list[Topic] = []

    def make(name: str | None = None, partitions: int = 1, **configs: object) -> Topic:
        chosen = fresh_name(request.node.name) if name is None else name
        made.append(ottla_broker.create_topic(chosen, partitions, -1, **configs))
        return made[-1]

    yield make
    if made and ottla_broker.running:
        ottla_broker.restore()
        delete_topics(ottla_broker.bootstrap_servers, made)


@pytest.fixture
def ottla_topic(ottla_topics: Callable[..., Topic], request: pytest.FixtureRequest) -> Topic:
    """A fresh topic, a str; `@pytest.mark.ottla_topic(partitions=3)` says how it is made."""
    marker = request.node.get_closest_marker("ottla_topic")
    return ottla_topics(**(marker.kwargs if marker else {}))


@pytest.fixture(scope="session")
def ottla_cluster(
    ottla_settings: dict[str, object], pytestconfig: pytest.Config
) -> Iterator[Cluster]:
    """Three brokers around a ZooKeeper for the session; skips where Java or ZooKeeper is missing."""
    from ottla.node.zookeeper_jars import ZookeeperMissing
    from ottla.testing.cluster import Cluster

    try:
        cluster = Cluster(3, ottla_settings)
    except ZookeeperMissing as missing:
        pytest.skip(f"ottla_cluster: {missing}")
    brokers = list(cluster.brokers.values())
    with cluster, _watching(pytestconfig, "ottla_cluster", brokers):
        yield cluster


class _watching:  # noqa: N801 - it is used as a function
    """Has failed tests report what brokers saw, and undoes what tests did to them."""

    def __init__(self, config: pytest.Config, fixture: str, brokers: list[Broker]) -> None:
        self._all = config.stash[_WATCHED]
        self._fixture = fixture
        self._brokers = brokers

    def __enter__(self) -> None:
        from ottla.testing.report import Watched

        self._all += [Watched(broker, self._fixture) for broker in self._brokers]

    def __exit__(self, *_: object) -> None:
        self._all[:] = [each for each in self._all if each.fixture != self._fixture]


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine that uses these fixtures on a loop of its own, unless pytest-asyncio or anyio has taken it.

    pytest-asyncio puts a plain function in its place, and anyio's hook comes first; coroutines of others are theirs.
    """
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test) or _FIXTURES.isdisjoint(pyfuncitem.fixturenames):
        return None
    import asyncio

    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(test(**arguments))
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Remember where the logs stand: what follows belongs to this test."""
    for watched in item.config.stash[_WATCHED]:
        watched.mark()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the brokers saw to the report of a test that failed."""
    report = yield
    if report.failed:
        report.sections += [(each.title, each.text()) for each in _used_by(item)]
    return report


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Leave the brokers to the next test as this one found them."""
    for watched in _used_by(item):
        watched.broker.restore()


def _used_by(item: pytest.Item) -> list[Watched]:
    used = getattr(item, "fixturenames", ())
    return [each for each in item.config.stash[_WATCHED] if each.fixture in used]
