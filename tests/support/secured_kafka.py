"""An Apache Kafka broker with a listener for each way to be talked to safely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Authority
from tools.apache_kafka import ApacheKafka, free_ports
from tools.java import SHORT_LIVED

PASSWORD = 'c0rre"ct; horse'
"""Everything in it has to survive the quotes of sasl.jaas.config."""
SESSION_MS = 3000
"""Long enough that what is sent before a renewal is answered before the end, on a busy machine as well."""
_MODULES = "org.apache.kafka.common.security."
_QUOTED = PASSWORD.replace('"', '\\"')

# The names of listeners, and the protocols they speak.
LISTENERS = {
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
    "BRIEF": "SASL_PLAINTEXT",
}


def jaas(mechanism: str, user: str = "ann", password: str = PASSWORD) -> str:
    """A client's login."""
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    quoted = password.replace('"', '\\"')
    return f'{_MODULES}{module}LoginModule required username="{user}" password="{quoted}";'


@dataclass(frozen=True)
class SecuredKafka:
    """Where its listeners are, and what a client needs to trust them."""

    directory: Path
    authority: Authority
    ports: dict[str, int]

    def address(self, listener: str) -> str:
        """HOST:PORT of a listener."""
        return f"127.0.0.1:{self.ports[listener]}"

    def settings(self, listener: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """What a client that may come in there needs."""
        protocol = LISTENERS.get(listener, "PLAINTEXT")
        found = {"bootstrap.servers": self.address(listener), "security.protocol": protocol}
        if protocol.endswith("SSL"):
            found |= {"ssl.truststore.location": str(self.directory / "ca.pem")}
        if protocol.startswith("SASL"):
            found |= {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism)}
        if listener == "MUTUAL":
            found |= {"ssl.keystore.location": str(self.directory / "client.pem")}
        return found


@contextmanager
def secured_kafka(directory: Path) -> Iterator[SecuredKafka]:
    """The broker, alive as long as its context."""
    authority = Authority.made()
    _write_certificates(directory, authority)
    names = ["PLAINTEXT", *LISTENERS]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    controller = free_ports(1)[0]
    kafka = ApacheKafka(
        directory / "data",
        port=ports["PLAINTEXT"],
        heap_mb=256,
        properties=_properties(directory, ports, controller),
        scram=[f"SCRAM-SHA-{bits}=[name=ann,password={PASSWORD}]" for bits in (256, 512)],
        jvm_options=SHORT_LIVED,
    )
    with kafka:
        yield SecuredKafka(directory, authority, ports)


def _write_certificates(directory: Path, authority: Authority) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "ca.pem").write_text(authority.certificate_pem())
    (directory / "broker.pem").write_text(authority.issue("broker").pem())
    (directory / "expired.pem").write_text(authority.issue("broker", valid=False).pem())
    (directory / "elsewhere.pem").write_text(authority.issue("broker", ("kafka.example",)).pem())
    (directory / "client.pem").write_text(authority.issue("client").pem())


def _properties(directory: Path, ports: dict[str, int], controller: int) -> dict[str, str]:
    listeners = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
    protocols = {**LISTENERS, "PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    found = {
        "listeners": ",".join([*listeners, f"CONTROLLER://127.0.0.1:{controller}"]),
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": str(directory / "expired.pem"),
        "listener.name.elsewhere.ssl.keystore.location": str(directory / "elsewhere.pem"),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.sasltls.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.brief.connections.max.reauth.ms": str(SESSION_MS),
        "num.partitions": "2",
        "offsets.topic.num.partitions": "1",
    }
    escaped = _QUOTED.replace("\\", "\\\\")
    logins = {
        "plain": f'{_MODULES}plain.PlainLoginModule required user_ann="{escaped}";',
        "scram-sha-256": f"{_MODULES}scram.ScramLoginModule required;",
        "scram-sha-512": f"{_MODULES}scram.ScramLoginModule required;",
        "oauthbearer": f"{_MODULES}oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker";',
    }
    for listener in ("sasl", "sasltls", "brief"):
        for mechanism, login in logins.items():
            found[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = login
    return found
