"""The brokers as one Python worker of Spark sees them; its sockets outlive the tasks that use them."""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Mapping
from typing import Any

from ottla.base.ids import TopicPartition
from ottla.client.errors import BrokerUnreachable, ClientError, check
from ottla.client.secured import security_of
from ottla.client.settings import ClientSettings, client_settings, is_known
from ottla.client.view import View, updated
from ottla.config.listeners import Address
from ottla.pipeline.reading_socket import BrokerSocket
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.schema import Request


class WorkerBrokers:
    """Who leads what, and idle sockets to them; a worker has one thread and needs no lock."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._view = View()
        self._idle: dict[Address, BrokerSocket] = {}
        self._security = security_of(settings)

    def leader(self, partition: TopicPartition) -> Address:
        """The address of a partition's leader, asked for where it is not known."""
        found = self._view.partition(*partition)
        if found is None or found.leader not in self._view.brokers:
            self.refresh(partition.topic)
            found = self._view.partition(*partition)
        if found is None or found.leader not in self._view.brokers:
            raise self._view.why_no_leader(*partition)
        node = self._view.brokers[found.leader]
        return Address(node.host, node.port)

    def close(self) -> None:
        """Hang up on everybody."""
        for socket in self._idle.values():
            socket.close()
        self._idle.clear()

    def forget(self, partition: TopicPartition) -> None:
        """Ask again who leads the partition at the next need."""
        topics = {name: each for name, each in self._view.topics.items() if name != partition.topic}
        self._view = self._view._replace(topics=topics)

    def refresh(self, topic: str) -> None:
        """Ask a broker about one topic."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        response = self._ask_any(request)
        self._view = updated(self._view, response, complete=False)

    def list_offset(self, partition: TopicPartition, timestamp: int, read_committed: bool) -> int:
        """The offset of a partition at one of its ends, or by time."""
        asked = ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed),
            topics=[ListOffsetsTopic(name=partition.topic, partitions=[asked])],
            timeout_ms=self.settings.request_timeout_ms,
        )
        link = self.take(self.leader(partition))
        version = link.version_of(ApiKey.LIST_OFFSETS)
        answer = link.ask(request, version, self.settings.request_timeout_ms / 1000)
        self.give_back(link)
        found = answer.topics[0].partitions[0]
        check(found.error_code)
        offset: int = found.offset
        return offset

    def take(self, address: Address) -> BrokerSocket:
        """A socket to a broker, for one user; `give_back` keeps it for the next."""
        link = self._idle.pop(address, None)
        if link is not None:
            if not link.closed and not link.expiring:
                return link
            link.close()
        timeout_s = self.settings.socket_connection_setup_timeout_ms / 1000
        return BrokerSocket(address, self.settings.client_id, timeout_s, self._security)

    def give_back(self, link: BrokerSocket) -> None:
        """Keep a socket that nothing is in flight on, else close it."""
        if link.closed or link.in_flight or link.address in self._idle:
            link.close()
        else:
            self._idle[link.address] = link

    def _ask_any(self, request: Request) -> Any:
        failures: list[ClientError] = []
        for address in self._addresses():
            try:
                link = self.take(address)
                version = link.version_of(request.api_key)
                answer = link.ask(request, version, self.settings.request_timeout_ms / 1000)
            except ClientError as error:
                failures.append(error)
                continue
            self.give_back(link)
            return answer
        for failure in failures:
            if not failure.retriable:  # such as a wrong password
                raise failure
        raise BrokerUnreachable("; ".join(map(str, failures)))

    def _addresses(self) -> Iterable[Address]:
        known = [Address(node.host, node.port) for node in self._view.brokers.values()]
        return dict.fromkeys((*known, *self.settings.bootstrap_servers))


_brokers: dict[tuple[tuple[str, str], ...], WorkerBrokers] = {}


def brokers_for(client: Mapping[str, str]) -> WorkerBrokers:
    """The brokers for these client settings; a worker process keeps them from task to task."""
    common = {name: text for name, text in client.items() if is_known(ClientSettings, name)}
    key = tuple(sorted(common.items()))
    if key not in _brokers:
        _brokers[key] = WorkerBrokers(client_settings(common))
    return _brokers[key]


@atexit.register
def _hang_up() -> None:
    """A process that ends leaves no socket open; workers of Spark do not come this far, and need not."""
    for brokers in _brokers.values():
        brokers.close()
