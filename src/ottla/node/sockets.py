"""Binds listening addresses before anything listens: the port is known, and nobody can connect too early."""

from __future__ import annotations

import socket

from ottla.base.errors import OttlaError


def bind(host: str, port: int) -> list[socket.socket]:
    """Bound sockets for every address of `host` (empty: every interface), all on one port; 0 picks a free one."""
    bound: list[socket.socket] = []
    try:
        for family, address in _addresses(host):
            listener = _bind_one(family, address, bound[0].getsockname()[1] if bound else port)
            if listener is not None:
                bound.append(listener)
    except OSError as failure:
        for listener in bound:
            listener.close()
        raise OttlaError(
            f"cannot listen on {host or '*'}:{port}: {failure.strerror}; is another broker running there?"
        ) from None
    if not bound:
        raise OttlaError(f"cannot listen on {host or '*'}:{port}: the host has no address here")
    return bound


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as failure:
        raise OttlaError(f"cannot listen on {host!r}: {failure.strerror}") from None
    unique = {(family, str(address[0])): None for family, _, _, _, address in found}
    # IPv4 first: it picks the port, and a machine without IPv6 simply has fewer addresses.
    return sorted(unique, key=lambda pair: pair[0] != socket.AF_INET)


def _bind_one(family: socket.AddressFamily, address: str, port: int) -> socket.socket | None:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
    except OSError:
        listener.close()
        if family == socket.AF_INET6:
            return None  # IPv6 may be configured and yet switched off
        raise
    return listener


def advertised_host(host: str) -> str:
    """What clients are told where the listener names no host: this machine's name, if it has an address."""
    if host and host not in ("0.0.0.0", "::"):
        return host
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except socket.gaierror:
        return "localhost"
    return name
