"""An authority of the tests' own, and certificates that it issues."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


@dataclass(frozen=True)
class Identity:
    """A key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def certificate_pem(self) -> str:
        """The certificate alone."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """The key alone, encrypted if there is a password."""
        kept = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, kept).decode()

    def pem(self, password: str | None = None) -> str:
        """Both, as Kafka takes them in one file."""
        return self.key_pem(password) + self.certificate_pem()

    def pkcs12(self, password: str) -> bytes:
        """Both, as keytool keeps them."""
        kept = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"own", self.key, self.certificate, None, kept)

    def trusted_pkcs12(self, password: str) -> bytes:
        """The certificate alone, as a truststore."""
        kept = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"own", None, None, [self.certificate], kept)


class Authority(Identity):
    """Issues certificates, and has one itself."""

    @classmethod
    def made(cls, name: str = "the tests' authority") -> Authority:
        """A new one."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(key, name, name, valid=True)
        return cls(key, builder.add_extension(_CA, critical=True).sign(key, hashes.SHA256()))

    def issue(
        self, name: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost"), *, valid: bool = True
    ) -> Identity:
        """A certificate for some hosts, which has expired if it is not valid."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.rfc4514_string().removeprefix("CN=")
        builder = _builder(key, name, issuer, valid=valid)
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        signed = builder.add_extension(names, critical=False).sign(self.key, hashes.SHA256())
        return Identity(key, signed)


_CA = x509.BasicConstraints(ca=True, path_length=None)


def _host(host: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host)


def _builder(
    key: ec.EllipticCurvePrivateKey, name: str, issuer: str, *, valid: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    until = now + DAY if valid else now - DAY
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * DAY)
        .not_valid_after(until)
    )
