"""In front of a secured Apache Kafka: whoever calls acts with a name and password of the cluster."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.http_service import HttpService

if TYPE_CHECKING:
    from tests.support.secured_kafka import SecuredKafka

pytestmark = [pytest.mark.compat, pytest.mark.java]


@pytest.fixture(scope="module")
def guarded(
    secured: "SecuredKafka", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HttpService]:
    """The service, with an account of its own for samples alone."""
    directory = tmp_path_factory.mktemp("guarded")
    settings = secured.settings("SASLTLS")
    lines = [f"{name}={value.replace(chr(92), chr(92) * 2)}\n" for name, value in settings.items()]
    (directory / "client.properties").write_text("".join(lines))
    more = ("--command-config", str(directory / "client.properties"))
    with HttpService(settings["bootstrap.servers"], directory, None, *more) as service:
        yield service


def test_without_a_login_nothing_is_told(guarded: HttpService) -> None:
    with httpx.Client(base_url=guarded.url, timeout=20) as caller:
        for path in ("/v3/clusters", "/topics", "/ui/", "/metrics"):
            found = caller.get(path)
            assert found.status_code == 401, path
            assert found.headers["www-authenticate"].startswith("Basic")
        assert caller.get("/v3/clusters").json()["error_code"] == 40101
        assert caller.get("/health/live").is_success
        assert caller.get("/topics", headers={"authorization": "Basic %%%"}).status_code == 401


def test_the_login_of_the_cluster_opens_it(guarded: HttpService) -> None:
    from tests.support.secured_kafka import PASSWORD

    with httpx.Client(base_url=guarded.url, auth=("ann", PASSWORD), timeout=20) as ann:
        [cluster] = ann.get("/v3/clusters").json()["data"]
        topics = f"/v3/clusters/{cluster['cluster_id']}/topics"
        assert ann.post(topics, json={"topic_name": "of-ann"}).status_code == 201
        record = {"value": {"type": "JSON", "data": 1}}
        assert ann.post(f"{topics}/of-ann/records", json=record).json()["error_code"] == 200
        assert "of-ann" in ann.get("/ui/topics").text
    with httpx.Client(base_url=guarded.url, auth=("ann", "wrong"), timeout=20) as eve:
        found = eve.get("/v3/clusters")
        assert (found.status_code, found.json()["error_code"]) == (401, 40101)
        assert eve.get("/ui/").status_code == 401
    assert PASSWORD not in guarded.log
