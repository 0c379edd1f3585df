"""Addresses are bound before anybody listens on them."""

import socket

import pytest

from ottla.base.errors import OttlaError
from ottla.node.sockets import advertised_host, bind


def close(*sockets: socket.socket) -> None:
    for each in sockets:
        each.close()


def test_port_zero_takes_a_free_one_for_every_address_of_the_host() -> None:
    bound = bind("localhost", 0)
    ports = {each.getsockname()[1] for each in bound}
    close(*bound)
    assert len(ports) == 1
    assert ports.pop() > 0


def test_no_host_means_every_interface() -> None:
    bound = bind("", 0)
    assert "0.0.0.0" in {each.getsockname()[0] for each in bound}
    close(*bound)


def test_nobody_can_connect_before_the_broker_listens() -> None:
    [bound] = bind("127.0.0.1", 0)
    with socket.socket() as early, pytest.raises(ConnectionRefusedError):
        early.connect(bound.getsockname())
    close(bound)


def test_a_port_in_use_is_named() -> None:
    [taken] = bind("127.0.0.1", 0)
    taken.listen()
    port = taken.getsockname()[1]
    with pytest.raises(
        OttlaError, match=rf"127\.0\.0\.1:{port}: Address already in use; is another"
    ):
        bind("127.0.0.1", port)
    close(taken)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here_is_named(host: str) -> None:
    with pytest.raises(OttlaError, match=host):
        bind(host, 0)


def test_clients_are_told_a_host_they_can_reach() -> None:
    assert advertised_host("broker.example") == "broker.example"
    for everywhere in ("", "0.0.0.0", "::"):
        assert advertised_host(everywhere) in (socket.gethostname(), "localhost")
