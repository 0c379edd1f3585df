"""PEM with its lines joined."""

from ottla.security.pem import with_lines
from tests.support.certificates import Authority


def test_lines_that_a_properties_file_joined_are_parted_again() -> None:
    authority = Authority.made()
    pem = authority.certificate_pem() + authority.key_pem("secret")
    for joint in (" ", "\n", " \n  ", ""):
        joined = joint.join(pem.splitlines())
        assert [
            line for line in with_lines(joined).splitlines() if line.strip()
        ] == pem.splitlines()


def test_what_is_no_pem_stays_as_it_is() -> None:
    assert with_lines("hello") == "hello"
