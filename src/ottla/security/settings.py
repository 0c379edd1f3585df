"""Pure: the settings that say how brokers are talked to safely, under Kafka's names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ottla.base.errors import ConfigError
from ottla.config.kinds import Kind, ListOf, OneOf, OptionalText
from ottla.config.setting import setting, settings_of

PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"

JKS: Final = "JKS"
PEM: Final = "PEM"
PKCS12: Final = "PKCS12"
HTTPS: Final = "https"
PLAIN: Final = "PLAIN"
SCRAM_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
OAUTHBEARER: Final = "OAUTHBEARER"
_MECHANISMS: Final = (PLAIN, *SCRAM_HASHES, OAUTHBEARER)
_OAUTH_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer."
_PREFIXES: Final = ("ssl.", "sasl.", "security.", "enable.ssl.")

WITHOUT_EFFECT: Final = frozenset(
    (
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    )
)
"""What says something of Java's insides alone, or of mechanisms that are not there."""

_LOGIN: Final = 'sasl.jaas.config=...LoginModule required username="..." password="...";'
_A_FILE: Final = "ssl.truststore.type=PEM and ssl.truststore.location"
_KEY_FILE: Final = (
    "ssl.keystore.type=PEM and ssl.keystore.location, a file with the key and its certificates"
)
REFUSED: Final = {
    "enable.ssl.certificate.verification": f"is librdkafka's; name the authority to trust with {_A_FILE}",
    "sasl.client.callback.handler.class": "names a class of Java, which cannot be run here",
    "sasl.login.class": "names a class of Java, which cannot be run here",
    "sasl.mechanisms": "is librdkafka's name; Kafka's is sasl.mechanism",
    "sasl.oauthbearer.config": f"is librdkafka's name; Kafka has {_LOGIN}",
    "sasl.password": f"is librdkafka's name; Kafka has {_LOGIN}",
    "sasl.username": f"is librdkafka's name; Kafka has {_LOGIN}",
    "security.providers": "names classes of Java, which cannot be run here",
    "ssl.ca.location": f"is librdkafka's name; Kafka has {_A_FILE}",
    "ssl.ca.pem": "is librdkafka's name; Kafka's is ssl.truststore.certificates, with ssl.truststore.type=PEM",
    "ssl.certificate.location": f"is librdkafka's name; Kafka has {_KEY_FILE}",
    "ssl.certificate.pem": "is librdkafka's name; Kafka's is ssl.keystore.certificate.chain",
    "ssl.cipher.suites": "has Java's names of ciphers; those of OpenSSL that are safe are used here",
    "ssl.engine.factory.class": "names a class of Java, which cannot be run here",
    "ssl.key.location": f"is librdkafka's name; Kafka has {_KEY_FILE}",
    "ssl.key.pem": "is librdkafka's name; Kafka's is ssl.keystore.key, with ssl.keystore.certificate.chain",
}
"""What cannot be followed, and must not be passed over either."""


class StoreType(Kind[str | None]):
    """PEM or PKCS12; JKS can be written, and is refused where it is known of which file."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> str | None:
        found = text.strip().upper()
        if found not in ("", PEM, PKCS12, JKS):
            raise ValueError(f"must be {self.allowed()}")
        return found or None

    def allowed(self) -> str:
        return "PEM or PKCS12"


class HostCheck(Kind[str]):
    """https, or empty for no check."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> str:
        found = text.strip().lower()
        if found not in ("", HTTPS):
            raise ValueError(f"must be {self.allowed()}")
        return found

    def allowed(self) -> str:
        return "https, or empty"


class Secret(Kind[str | None]):
    """Any text, blanks included; an empty one is none."""

    __slots__ = ()
    code, word = 9, "password"

    def parse(self, text: str) -> str | None:
        return text or None

    def allowed(self) -> str:
        return "any text"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # tables built on it make their own
class SecuritySettings:
    """How a client makes sure of brokers, and they of it."""

    security_protocol: str = setting(
        "security.protocol",
        PLAINTEXT,
        OneOf(PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL),
        doc="Says how to talk to brokers: with TLS (SSL, SASL_SSL) and with a login (SASL_), or neither.",
    )
    sasl_mechanism: str | None = setting(
        "sasl.mechanism",
        None,
        OptionalText(),
        doc="Logs in with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; Kafka's default, GSSAPI, is not there.",
    )
    sasl_jaas_config: str | None = setting(
        "sasl.jaas.config",
        None,
        Secret(),
        sensitive=True,
        doc="Names Kafka's login module and its options: who logs in.",
    )
    sasl_login_callback_handler_class: str | None = setting(
        "sasl.login.callback.handler.class",
        None,
        OneOf(
            f"{_OAUTH_PACKAGE}OAuthBearerLoginCallbackHandler",
            f"{_OAUTH_PACKAGE}secured.OAuthBearerLoginCallbackHandler",
        ),
        doc="Is accepted for the sake of files written for Java; the endpoint's URL says all.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = setting(
        "sasl.oauthbearer.token.endpoint.url",
        None,
        OptionalText(),
        doc="Names the file with the token for OAUTHBEARER as file:///path; it is read at each login.",
    )
    ssl_truststore_type: str | None = setting(
        "ssl.truststore.type",
        None,
        StoreType(),
        doc="Says what the truststore is; without it, what is in the file does.",
    )
    ssl_truststore_location: str | None = setting(
        "ssl.truststore.location",
        None,
        OptionalText(),
        doc="Trusts the certificates in this file; without any, those that the system trusts.",
    )
    ssl_truststore_password: str | None = setting(
        "ssl.truststore.password",
        None,
        Secret(),
        sensitive=True,
        doc="Opens a truststore of type PKCS12.",
    )
    ssl_truststore_certificates: str | None = setting(
        "ssl.truststore.certificates",
        None,
        Secret(),
        sensitive=True,
        doc="Trusts these certificates: the text of a PEM file.",
    )
    ssl_keystore_type: str | None = setting(
        "ssl.keystore.type",
        None,
        StoreType(),
        doc="Says what the keystore is; without it, what is in the file does.",
    )
    ssl_keystore_location: str | None = setting(
        "ssl.keystore.location",
        None,
        OptionalText(),
        doc="Shows brokers the certificate in this file, which holds its key, too.",
    )
    ssl_keystore_password: str | None = setting(
        "ssl.keystore.password",
        None,
        Secret(),
        sensitive=True,
        doc="Opens a keystore of type PKCS12.",
    )
    ssl_keystore_key: str | None = setting(
        "ssl.keystore.key",
        None,
        Secret(),
        sensitive=True,
        doc="Is the private key of ssl.keystore.certificate.chain: the text of a PEM file.",
    )
    ssl_keystore_certificate_chain: str | None = setting(
        "ssl.keystore.certificate.chain",
        None,
        Secret(),
        sensitive=True,
        doc="Shows brokers this certificate, with those that vouch for it: the text of a PEM file.",
    )
    ssl_key_password: str | None = setting(
        "ssl.key.password",
        None,
        Secret(),
        sensitive=True,
        doc="Opens the private key, where it is encrypted.",
    )
    ssl_endpoint_identification_algorithm: str = setting(
        "ssl.endpoint.identification.algorithm",
        HTTPS,
        HostCheck(),
        doc="Checks that the broker's certificate is for the name it was reached by (https), or does not (empty).",
    )
    ssl_enabled_protocols: tuple[str, ...] = setting(
        "ssl.enabled.protocols",
        ("TLSv1.2", "TLSv1.3"),
        ListOf("TLSv1.2", "TLSv1.3", empty=False),
        doc="Speaks these versions of TLS.",
    )

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security_protocol in (SSL, SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        """Whether the client logs in."""
        return self.security_protocol in (SASL_PLAINTEXT, SASL_SSL)


def is_about_security(name: str) -> bool:
    """Whether a setting must never be passed over: a client that did might talk in the clear."""
    return name.startswith(_PREFIXES)


def hidden(name: str, value: str) -> str:
    """The value of a setting as people may see it."""
    secret = {row.name for row in settings_of(SecuritySettings) if row.sensitive}
    return "[hidden]" if name in secret or "password" in name else value


def check_security(settings: SecuritySettings) -> None:
    """ConfigError for what is missing, contradicts itself or cannot be followed."""
    _refuse_java_store("truststore", settings.ssl_truststore_type, settings.ssl_truststore_location)
    _refuse_java_store("keystore", settings.ssl_keystore_type, settings.ssl_keystore_location)
    if settings.uses_sasl:
        _check_sasl(settings)
    if settings.uses_tls:
        _check_stores(settings)


def _check_sasl(settings: SecuritySettings) -> None:
    protocol, mechanism = settings.security_protocol, settings.sasl_mechanism
    either = f"{', '.join(_MECHANISMS[:-1])} or {_MECHANISMS[-1]}"
    if mechanism not in _MECHANISMS:
        missing = (
            f"is missing, and security.protocol={protocol} needs it; " if not mechanism else ""
        )
        raise ConfigError(
            "sasl.mechanism",
            mechanism,
            f"{missing}must be {either}; GSSAPI (Kerberos), which is Kafka's default, is not there",
        )
    if settings.sasl_jaas_config is None:
        needs = f"is missing, and sasl.mechanism={mechanism} needs it, such as "
        raise ConfigError("sasl.jaas.config", None, needs + example_login(mechanism))
    url = settings.sasl_oauthbearer_token_endpoint_url
    if mechanism == OAUTHBEARER and url is not None and not url.startswith("file:"):
        raise ConfigError(
            "sasl.oauthbearer.token.endpoint.url",
            None,
            "identity providers are not asked for tokens here; have something else fetch the token "
            "into a file and name it as file:///path/to/token",
        )


def example_login(mechanism: str) -> str:
    """What `sasl.jaas.config` looks like for a mechanism."""
    package = "org.apache.kafka.common.security."
    if mechanism == OAUTHBEARER:
        return f"{package}oauthbearer.OAuthBearerLoginModule required;"
    module = "plain.Plain" if mechanism == PLAIN else "scram.Scram"
    return f'{package}{module}LoginModule required username="..." password="...";'


def _check_stores(settings: SecuritySettings) -> None:
    key, chain = settings.ssl_keystore_key, settings.ssl_keystore_certificate_chain
    if (key is None) != (chain is None):
        missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
        raise ConfigError(missing, None, "is missing: a key and its certificates go together")
    if key is not None and settings.ssl_keystore_location is not None:
        raise ConfigError(
            "ssl.keystore.key", None, "contradicts ssl.keystore.location; leave one of them out"
        )
    if settings.ssl_truststore_certificates and settings.ssl_truststore_location:
        raise ConfigError(
            "ssl.truststore.certificates",
            None,
            "contradicts ssl.truststore.location; leave one of them out",
        )


def _refuse_java_store(sort: str, kind: str | None, location: str | None) -> None:
    if kind == JKS or (kind is None and (location or "").lower().endswith(".jks")):
        raise java_store(sort, location)


def java_store(sort: str, location: str | None) -> ConfigError:
    """What to tell whoever has a keystore of Java's own format."""
    source = location or f"{sort}.jks"
    target = re.sub(r"\.\w+$", "", source) + ".p12"
    return ConfigError(
        f"ssl.{sort}.location",
        location,
        "a Java keystore (JKS) can be read by Java alone; convert it with: keytool "
        f"-importkeystore -srckeystore {source} -destkeystore {target} -deststoretype PKCS12, "
        f"and set ssl.{sort}.location={target} and ssl.{sort}.type=PKCS12",
    )
