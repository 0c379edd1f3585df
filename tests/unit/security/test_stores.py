"""Certificates and keys out of files of all sorts; whether they work is seen in a handshake."""

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.base.errors import ConfigError
from ottla.security.settings import SecuritySettings
from ottla.security.tls import client_context
from tests.support.certificates import Authority
from tests.support.requirements import requires

PASSWORD = "correct horse"
AUTHORITY = Authority.made()
OWN = AUTHORITY.issue("client")


def secured(**settings: str) -> SecuritySettings:
    return SecuritySettings(security_protocol="SSL", **settings)  # type: ignore[arg-type]


def greeted(settings: SecuritySettings) -> str:
    """Who a server that asks for a certificate sees, after a handshake in memory."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(cadata=AUTHORITY.certificate_pem())
    chain = Path("/dev/shm") / f"ottla-test-{id(server)}.pem"
    try:
        chain.write_text(AUTHORITY.issue("server").pem())
        server.load_cert_chain(chain)
    finally:
        chain.unlink(missing_ok=True)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client_context(settings).wrap_bio(back, there, server_hostname="localhost")
    theirs = server.wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = theirs.getpeercert()
    assert shown is not None
    return str(dict(pair for (pair,) in shown["subject"])["commonName"])  # type: ignore[misc]


def test_pem_files(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text(AUTHORITY.certificate_pem())
    (tmp_path / "own").write_text(OWN.pem(PASSWORD))
    settings = secured(
        ssl_truststore_location=str(tmp_path / "ca"),
        ssl_keystore_location=str(tmp_path / "own"),
        ssl_key_password=PASSWORD,
    )
    assert greeted(settings) == "client"


def test_pem_in_settings_with_its_lines_joined() -> None:
    settings = secured(
        ssl_truststore_certificates=AUTHORITY.certificate_pem().replace("\n", " "),
        ssl_keystore_key=OWN.key_pem().replace("\n", ""),
        ssl_keystore_certificate_chain=OWN.certificate_pem(),
    )
    assert greeted(settings) == "client"


def test_pkcs12(tmp_path: Path) -> None:
    (tmp_path / "trust.p12").write_bytes(AUTHORITY.trusted_pkcs12(PASSWORD))
    (tmp_path / "own.p12").write_bytes(OWN.pkcs12(PASSWORD))
    settings = secured(
        ssl_truststore_location=str(tmp_path / "trust.p12"),
        ssl_truststore_password=PASSWORD,
        ssl_truststore_type="PKCS12",
        ssl_keystore_location=str(tmp_path / "own.p12"),
        ssl_keystore_password=PASSWORD,
    )
    assert greeted(settings) == "client"


def test_a_truststore_of_keytool_and_one_of_java_alone(tmp_path: Path) -> None:
    requires("java")
    (tmp_path / "ca").write_text(AUTHORITY.certificate_pem())
    for kind in ("PKCS12", "JKS"):
        line = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", tmp_path / "ca"]
        store = ["-keystore", tmp_path / kind, "-storetype", kind, "-storepass", "secret"]
        subprocess.run([*line, *store], check=True, capture_output=True, timeout=60)
    trusted = secured(
        ssl_truststore_location=str(tmp_path / "PKCS12"), ssl_truststore_password="secret"
    )
    [found] = client_context(trusted).get_ca_certs(binary_form=True)
    assert found == ssl.PEM_cert_to_DER_cert(AUTHORITY.certificate_pem())
    with pytest.raises(ConfigError, match=r"keytool -importkeystore .*JKS\.p12"):
        client_context(secured(ssl_truststore_location=str(tmp_path / "JKS")))


def test_what_is_in_the_truststore_is_trusted_whoever_issued_it() -> None:
    """As Java does it: here the authority itself is not there."""
    context = client_context(secured(ssl_truststore_certificates=OWN.certificate_pem()))
    assert context.verify_flags & ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN


def test_without_a_truststore_the_system_is_trusted() -> None:
    context = client_context(secured())
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def refused(content: str | bytes, tmp_path: Path, sort: str, **more: str) -> str:
    """The sentence about a file that cannot be used."""
    file = tmp_path / "file"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        client_context(secured(**{f"ssl_{sort}_location": str(file)}, **more))
    assert str(file) in str(caught.value)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    assert "is neither PEM nor PKCS12" in refused("hello", tmp_path, "truststore")
    pem = AUTHORITY.certificate_pem()
    wrong = refused(pem, tmp_path, "truststore", ssl_truststore_type="PKCS12")
    assert "is no PKCS12 file; it looks like PEM" in wrong
    assert "no certificate" in refused(OWN.key_pem(), tmp_path, "truststore")
    assert "set ssl.key.password" in refused(pem, tmp_path, "keystore")
    with pytest.raises(ConfigError, match=r"ssl.truststore.location=/no/such: cannot be read: No"):
        client_context(secured(ssl_truststore_location="/no/such"))


def test_keys_that_cannot_be_opened(tmp_path: Path) -> None:
    """Nobody is asked for a password at the terminal."""
    assert "set ssl.key.password" in refused(OWN.pem(PASSWORD), tmp_path, "keystore")
    wrong = {"ssl_key_password": PASSWORD + "?"}
    assert "check the password" in refused(OWN.pem(PASSWORD), tmp_path, "keystore", **wrong)
    other = AUTHORITY.issue("other")
    both = OWN.key_pem() + other.certificate_pem()
    assert "do not belong together" in refused(both, tmp_path, "keystore")


def test_pkcs12_that_cannot_be_opened(tmp_path: Path) -> None:
    store = OWN.pkcs12(PASSWORD)
    assert "ssl.keystore.password is missing" in refused(store, tmp_path, "keystore")
    wrong = {"ssl_keystore_password": PASSWORD + "?"}
    assert "password does not open it" in refused(store, tmp_path, "keystore", **wrong)
    trust = AUTHORITY.trusted_pkcs12(PASSWORD)
    right = {"ssl_keystore_password": PASSWORD}
    assert "holds no private key" in refused(trust, tmp_path, "keystore", **right)


def test_pkcs12_without_the_package_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "cryptography.hazmat.primitives.serialization.pkcs12"
    monkeypatch.setitem(sys.modules, name, None)
    assert "pip install 'ottla[security]'" in refused(b"\x30\x82", tmp_path, "keystore")
