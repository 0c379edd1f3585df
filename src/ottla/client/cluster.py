"""The brokers of a cluster as one client sees them: connections on demand, leaders, coordinators."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from ottla.base.units import INT_MAX
from ottla.client.connection import Connection
from ottla.client.errors import (
    BrokerUnreachable,
    ClientError,
    ConnectionLost,
    RequestTimedOut,
    api_error,
    check,
    is_retriable,
)
from ottla.client.retry import Backoff, Deadline, keep_trying
from ottla.client.secured import security_of
from ottla.client.settings import ClientSettings
from ottla.client.view import View, updated
from ottla.config.listeners import Address
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request, error_codes

T = TypeVar("T")

GROUP: Final = 0
TRANSACTION: Final = 1
_COORDINATOR_MOVED: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_COORDINATOR_BUSY: Final = (*_COORDINATOR_MOVED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class _Link:
    """The way to one address: its connection, and when to try again after failures."""

    __slots__ = ("backoff", "connection", "not_before", "opening")

    def __init__(self, backoff: Backoff) -> None:
        self.backoff = backoff
        self.connection: Connection | None = None
        self.not_before = 0.0
        self.opening = asyncio.Lock()

    def live(self) -> Connection | None:
        """The connection, unless it was lost."""
        return None if self.connection is None or self.connection.closed else self.connection


class Cluster:
    """One client's connections to a cluster and its view of it."""

    def __init__(self, settings: ClientSettings, *, retries: int = INT_MAX) -> None:
        self.settings = settings
        self.view = View()
        self.closed = False
        self._retries = retries
        self._links: dict[Address, _Link] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._security = security_of(settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, for good."""
        self.closed = True
        links, self._links = self._links, {}
        open_ones = [link.connection for link in links.values() if link.connection is not None]
        await asyncio.gather(*(connection.close() for connection in open_ones))

    # --- the view

    async def refresh(
        self, topics: Iterable[str] | None = (), *, allow_auto_create: bool = False
    ) -> View:
        """Ask for the brokers and for some topics, or all with None; the new view."""
        asked = None if topics is None else sorted(set(topics))
        request = MetadataRequest(
            topics=None if asked is None else [MetadataRequestTopic(name=name) for name in asked],
            allow_auto_topic_creation=allow_auto_create,
        )
        response: MetadataResponse = await self.ask(request)
        check(response.error_code)
        self.view = updated(self.view, response, complete=asked is None)
        return self.view

    async def leader(
        self,
        topic: str,
        partition: int,
        *,
        timeout_ms: float | None = None,
        allow_auto_create: bool = False,
    ) -> int:
        """The node that leads a partition; waits a while where there is none."""
        found = self.view.partition(topic, partition)
        if found is not None and found.leader in self.view.brokers:
            return found.leader
        within_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline, backoff = Deadline(within_ms), self.backoff()
        while True:
            view = await self.refresh([topic], allow_auto_create=allow_auto_create)
            found = view.partition(topic, partition)
            if found is not None and found.leader in view.brokers:
                return found.leader
            refusal = view.why_no_leader(topic, partition)
            if not is_retriable(refusal) or not await deadline.sleep(backoff.next_ms()):
                raise refusal

    def backoff(self) -> Backoff:
        """Fresh waits between the attempts of one operation."""
        return Backoff(self.settings.retry_backoff_ms, self.settings.retry_backoff_max_ms)

    # --- connections

    async def connection(self, node_id: int | None = None) -> Connection:
        """The connection to a node, or to any broker that answers."""
        if node_id is not None:
            return await self._reach(await self._address_of(node_id))
        for link in self._links.values():
            if (live := link.live()) is not None:
                return live
        return await self._reach_any()

    async def ask(
        self,
        request: Request,
        *,
        node_id: int | None = None,
        timeout_ms: float | None = None,
        max_version: int | None = None,
    ) -> Any:
        """Send a request to a node, or to any, once; the typed response."""
        connection = await self.connection(node_id)
        version = connection.version_of(request.api_key, max_version)
        within_ms = self.settings.request_timeout_ms if timeout_ms is None else timeout_ms
        return await connection.ask(request, version=version, timeout_ms=within_ms)

    async def _address_of(self, node_id: int) -> Address:
        if node_id not in self.view.brokers:
            await self.refresh()
        if node_id not in self.view.brokers:
            known = ", ".join(map(str, sorted(self.view.brokers))) or "none"
            raise BrokerUnreachable(f"there is no broker {node_id} at present (there are: {known})")
        node = self.view.brokers[node_id]
        return Address(node.host, node.port)

    async def _reach_any(self) -> Connection:
        failures: list[ClientError] = []
        for address in self._candidates():
            try:
                return await self._reach(address)
            except ClientError as error:
                failures.append(error)
        if not failures:
            raise BrokerUnreachable("no broker was named; set bootstrap.servers to host:port")
        if len(failures) == 1:
            raise failures[0]
        if all(type(each) is type(failures[0]) for each in failures):
            raise type(failures[0])("; ".join(map(str, failures)))
        raise BrokerUnreachable("; ".join(map(str, failures)))

    def _candidates(self) -> list[Address]:
        known = [Address(node.host, node.port) for node in self.view.brokers.values()]
        return list(dict.fromkeys((*known, *self.settings.bootstrap_servers)))

    async def _reach(self, address: Address) -> Connection:
        if self.closed:
            raise ClientError("this client was closed")
        link = self._links.get(address)
        if link is None:
            settings = self.settings
            waits = Backoff(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms)
            link = self._links[address] = _Link(waits)
        if (live := link.live()) is not None:
            return live
        # Whoever comes while a connection is being opened waits for that one.
        async with link.opening:
            return link.live() or await self._open(address, link)

    async def _open(self, address: Address, link: _Link) -> Connection:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, link.not_before - loop.time()))
        try:
            opened = await Connection.open(
                address.host,
                address.port,
                client_id=self.settings.client_id,
                timeout_ms=self.settings.socket_connection_setup_timeout_ms,
                security=self._security,
            )
        except ClientError:
            link.not_before = loop.time() + link.backoff.next_ms() / 1000
            raise
        if self.closed:  # meanwhile: nobody else would close this one
            await opened.close()
            raise ClientError("this client was closed")
        link.connection = opened
        link.backoff.reset()
        return opened

    # --- the controller and the coordinators

    async def ask_controller(self, request: Request, *, timeout_ms: float | None = None) -> Any:
        """Send a request to the controller, which is looked for again where it has moved."""

        async def attempt() -> Any:
            if self.view.controller_id not in self.view.brokers:
                await self.refresh()
            controller = self.view.controller_id
            node_id = controller if controller in self.view.brokers else None
            response = await self.ask(request, node_id=node_id, timeout_ms=timeout_ms)
            if ErrorCode.NOT_CONTROLLER in error_codes(response):
                await self.refresh()
                raise api_error(ErrorCode.NOT_CONTROLLER)
            return response

        return await self.retried(attempt, timeout_ms=timeout_ms)

    async def coordinator(self, key: str, kind: int = GROUP) -> int:
        """The node that coordinates a group, or with TRANSACTION a transactional id."""
        known = self._coordinators.get((kind, key))
        if known is not None and known in self.view.brokers:
            return known
        node_id = await self._find_coordinator(key, kind)
        if node_id not in self.view.brokers:
            await self.refresh()
        self._coordinators[kind, key] = node_id
        return node_id

    def forget_coordinator(self, key: str, kind: int = GROUP) -> None:
        """Look for the coordinator again at the next need."""
        self._coordinators.pop((kind, key), None)

    async def ask_coordinator(
        self,
        key: str,
        request: Request,
        *,
        kind: int = GROUP,
        timeout_ms: float | None = None,
        max_version: int | None = None,
    ) -> Any:
        """Send a request to the coordinator of `key`, following it where it has moved."""

        async def attempt() -> Any:
            try:
                node_id = await self.coordinator(key, kind)
                response = await self.ask(
                    request, node_id=node_id, timeout_ms=timeout_ms, max_version=max_version
                )
            except ClientError:
                self.forget_coordinator(key, kind)
                raise
            for code in error_codes(response):
                if code in _COORDINATOR_BUSY:
                    if code in _COORDINATOR_MOVED:
                        self.forget_coordinator(key, kind)
                    raise api_error(code)
            return response

        return await self.retried(attempt, timeout_ms=timeout_ms)

    async def retried(
        self, attempt: Callable[[], Awaitable[T]], *, timeout_ms: float | None = None
    ) -> T:
        """What `attempt` returns, repeated while it fails in a way that may pass.

        A cluster that was never met is not waited for: its address is more likely wrong.
        """

        def worth_it(error: Exception) -> bool:
            unmet = BrokerUnreachable | ConnectionLost | RequestTimedOut
            strange = isinstance(error, unmet) and not self.view.brokers
            return is_retriable(error) and not strange

        within_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return await keep_trying(
            attempt,
            within_ms=within_ms,
            backoff=self.backoff(),
            on=worth_it,
            retries=self._retries,
        )

    async def _find_coordinator(self, key: str, kind: int) -> int:
        from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest

        request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
        response = await self.ask(request)
        # From version 4 on there is a list of answers, before it one answer.
        answer = response.coordinators[0] if response.coordinators else response
        check(answer.error_code, answer.error_message)
        node_id: int = answer.node_id
        return node_id
