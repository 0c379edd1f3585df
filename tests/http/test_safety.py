"""What a browser may be tricked into, what is too much, and what an answer must not tell."""

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

from tests.http.test_records import text, write
from tests.support.broker import OTTLA, OttlaBroker
from tests.support.http_service import HttpService, Rest
from tests.support.waiting import wait_for

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def strict(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """A service with small limits that changes nothing."""
    settings = {
        "ottla.http.read.only": "true",
        "ottla.http.max.request.bytes": "2000",
        "ottla.http.request.timeout.ms": "500",
        "ottla.http.max.streams": "1",
        "ottla.http.allowed.origins": "https://tools.example",
    }
    with (
        HttpService(bootstrap, tmp_path_factory.mktemp("strict"), settings) as service,
        closing(Rest(service)) as rest,
    ):
        yield rest


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8082", "[evil]", ""])
def test_a_name_of_another_site_is_refused(rest: Rest, host: str) -> None:
    found = rest.http.get("/v3/clusters", headers={"host": host})
    assert found.status_code in (400, 421)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8082", "192.0.2.7"]
)
def test_names_of_this_service_are_taken(rest: Rest, host: str) -> None:
    assert rest.http.get("/health/live", headers={"host": host}).is_success


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_sites_change_nothing(rest: Rest, origin: str) -> None:
    found = rest.ask("POST", "c/topics", {"topic_name": "stolen"}, headers={"origin": origin})
    assert found.status_code == 403
    assert "stolen" not in rest.get("/topics")
    read = rest.http.get("/v3/clusters", headers={"origin": origin})
    assert "access-control-allow-origin" not in read.headers
    crossed = rest.http.get("/v3/clusters", headers={"sec-fetch-site": "cross-site"})
    assert crossed.status_code == 403


def test_a_page_that_was_named_may_read(strict: Rest) -> None:
    origin = {"origin": "https://tools.example"}
    found = strict.http.get("/v3/clusters", headers=origin)
    assert found.headers["access-control-allow-origin"] == origin["origin"]
    asked = strict.ask("OPTIONS", "c/topics", headers=origin)
    assert asked.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"


def test_a_service_that_only_reads_refuses_all_that_changes(strict: Rest, orders: str) -> None:
    assert strict.refused("POST", "c/topics", {"topic_name": "x"})[0] == 403
    assert strict.refused("DELETE", f"c/topics/{orders}")[0] == 403
    assert strict.refused("POST", f"c/topics/{orders}/records", {})[0] == 403
    assert strict.get(f"c/topics/{orders}/records")["data"] == []


def test_bodies_that_are_too_long_too_slow_or_no_json(
    rest: Rest, bootstrap: str, tmp_path_factory: pytest.TempPathFactory, orders: str
) -> None:
    settings = {"ottla.http.max.request.bytes": "2000", "ottla.http.request.timeout.ms": "500"}
    with (
        HttpService(bootstrap, tmp_path_factory.mktemp("small"), settings) as service,
        closing(Rest(service)) as small,
    ):
        long = {"topic_name": "x" * 3000}
        assert small.refused("POST", "c/topics", long)[0] == 413
        chunked = small.ask(
            "POST",
            "c/topics",
            content=iter([b"x" * 1500] * 2),
            headers={"content-type": "application/json"},
        )
        assert chunked.status_code == 413
        [report] = write(small, orders, {"value": text("x" * 3000)})
        assert report["error_code"] == 413
        assert answer_to_half_a_body(small, "c/topics").startswith("HTTP/1.1 408")
        assert '"error_code":408' in answer_to_half_a_body(small, f"c/topics/{orders}/records")
    for body, status in (
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 422),
        (b"[]", 422),
        (b"", 400),
    ):
        found = rest.ask("POST", "c/topics", content=body, headers=JSON)
        assert (found.status_code, set(found.json())) == (status, {"error_code", "message"}), body[
            :20
        ]


def test_a_caller_who_goes_away_within_a_body_leaves_nothing_behind(
    rest: Rest, orders: str
) -> None:
    host, port = rest.service.url.removeprefix("http://").split(":")
    for path in ("c/topics", f"c/topics/{orders}/records"):
        with socket.create_connection((host, int(port)), 20) as link:
            link.sendall(
                f"POST {rest.path(path)} HTTP/1.1\r\nHost: {host}\r\ncontent-type: application/json\r\n"
                "content-length: 100\r\n\r\n{".encode()
            )
    assert rest.get("/health/live") == {"status": "live"}


def test_a_head_without_an_end_is_given_up(rest: Rest) -> None:
    host, port = rest.service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as link:
        link.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nx: ".encode() + b"x" * 200_000)
        assert link.recv(1000).startswith(b"HTTP/1.1 400")


def answer_to_half_a_body(rest: Rest, path: str) -> str:
    host, port = rest.service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as link:
        link.sendall(
            f"POST {rest.path(path)} HTTP/1.1\r\nHost: {host}:{port}\r\ncontent-type: application/json\r\n"
            'content-length: 100\r\nconnection: close\r\n\r\n{"value"'.encode()
        )
        received = b""
        while more := link.recv(65536):
            received += more
    return received.decode()


def test_too_many_live_streams_are_refused_and_those_that_ended_do_not_count(
    strict: Rest, orders: str
) -> None:
    path = strict.path(f"c/topics/{orders}/records?format=sse")
    ended = path.replace("sse", "ndjson")
    for _ in range(3):
        with httpx.Client(base_url=strict.service.url) as other, other.stream("GET", path) as first:
            assert first.status_code == 200
            lines = first.iter_lines()
            next(lines)
            assert strict.http.get(path).status_code == 429
        wait_for(lambda: strict.http.get(ended).is_success, "the end of the stream to be noticed")


@pytest.mark.parametrize(
    "path",
    [
        "/v3/clusters/%00",
        "/v3/clusters/%ff%fe",
        "/v3/clusters/" + "a" * 5000,
        "/docs/..%2f..%2fetc%2fpasswd",
        "/docs/%2e%2e/app.py",
        "//etc/passwd",
        "/v3/clusters/{{7*7}}",
        "/v3/clusters/<script>",
        "/topics/%0d%0aset-cookie:x=1",
        "/?" + "&".join(f"a{n}=1" for n in range(200)),
    ],
)
def test_hostile_addresses_are_refused_in_json(rest: Rest, path: str) -> None:
    found = rest.http.get(path)
    assert found.status_code in (400, 404, 414)
    assert "json" in found.headers["content-type"]
    assert "set-cookie" not in found.headers
    assert "/src/" not in found.text
    json.loads(found.text)


def test_a_cluster_that_is_down_is_said_and_comes_back(
    own_broker: Callable[..., OttlaBroker], tmp_path_factory: pytest.TempPathFactory
) -> None:
    broker = own_broker()
    with HttpService(broker.bootstrap, tmp_path_factory.mktemp("down")) as service:
        rest = Rest(service)
        assert rest.get("/health/ready")["status"] == "ready"
        broker.kill()
        status, said = rest.refused("GET", "/health/ready")
        assert (status, said["status"]) == (503, "not ready")
        assert rest.get("/health/live") == {"status": "live"}
        broker.start()
        assert rest.get("/health/ready")["status"] == "ready"
        assert rest.get("c/brokers")["data"]
        rest.close()


def test_an_address_that_others_reach_needs_a_word(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:

    refused = subprocess.run(
        [OTTLA, "http", "--listen", "0.0.0.0:0"], capture_output=True, text=True, timeout=20
    )
    assert refused.returncode == 1
    assert "ottla.http.anonymous=true" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_it_is_small_and_quick_and_describes_itself(service: HttpService, rest: Rest) -> None:
    assert service.rss_bytes < 120 << 20
    metrics = rest.http.get("/metrics").text
    assert 'ottla_cluster_up{cluster="default"} 1' in metrics
    page = rest.http.get("/docs/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("docs.css", "docs.js"):
        assert "http://" not in rest.http.get(f"/docs/{name}").text
    described = rest.get("/openapi.json")
    assert described["openapi"] == "3.1.0"
    assert len(described["paths"]) > 70
