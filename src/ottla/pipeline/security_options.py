"""Pure: the security settings of Java's clients, turned into what other clients understand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ottla.base.errors import ConfigError

_LOGIN: Final = re.compile(
    r"\s*(\S+)\s+(required|requisite|sufficient|optional)\s+(.*?);?\s*", re.DOTALL
)
_PAIR: Final = re.compile(r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;"']+))""")
_JAVA_STORES: Final = (".jks", ".keystore", ".truststore")
_CREDENTIALS: Final = ("username", "password")


def understood_security(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with sasl.jaas.config taken apart; a Java keystore is refused."""
    found = dict(settings)
    for sort in ("keystore", "truststore"):
        _refuse_java_store(found, sort)
    login = found.pop("sasl.jaas.config", None)
    if login is not None:
        pairs = parse_jaas(login)
        for name in _CREDENTIALS:
            if name in pairs:
                found[f"sasl.{name}"] = pairs[name]
    return found


def parse_jaas(text: str) -> dict[str, str]:
    """The options of a JAAS login module; the text itself is never repeated, since it holds a password."""
    matched = _LOGIN.fullmatch(text)
    if matched is None:
        raise ConfigError(
            "kafka.sasl.jaas.config",
            None,
            'must be of the form: LoginModuleClass required username="..." password="...";',
        )
    rest, pairs = matched[3], {}
    while rest.strip():
        pair = _PAIR.match(rest)
        if pair is None:
            raise ConfigError(
                "kafka.sasl.jaas.config", None, 'after "required" come name="value" pairs only'
            )
        quoted, single, plain = pair[2], pair[3], pair[4]
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else single or plain or ""
        pairs[pair[1]] = value
        rest = rest[pair.end() :]
    return pairs


def _refuse_java_store(settings: Mapping[str, str], sort: str) -> None:
    location = settings.get(f"ssl.{sort}.location", "")
    stated = settings.get(f"ssl.{sort}.type", "").upper()
    if stated == "JKS" or (not stated and location.lower().endswith(_JAVA_STORES)):
        source = location or f"{sort}.jks"
        target = re.sub(r"\.\w+$", "", source) + ".p12"
        raise ConfigError(
            f"kafka.ssl.{sort}.location",
            location or None,
            "a Java keystore (JKS) can be read by Java alone; convert it with: keytool "
            f"-importkeystore -srckeystore {source} -destkeystore {target} -deststoretype PKCS12, "
            f"and set kafka.ssl.{sort}.location={target} and kafka.ssl.{sort}.type=PKCS12",
        )
