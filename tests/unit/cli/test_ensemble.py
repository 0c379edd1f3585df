"""What `ottla cluster status` makes of a connect string and of the servers behind it."""

import pytest

from ottla.cli.ensemble import is_quorate, servers


def test_a_connect_string_names_servers() -> None:
    assert servers("a:1,b:2/chroot/below") == [("a", 1), ("b", 2)]
    assert servers("zoo, [::1]:2182") == [("zoo", 2181), ("::1", 2182)]
    assert servers("") == []


@pytest.mark.parametrize(
    ("modes", "quorate"),
    [
        (["standalone"], True),
        (["leader", "follower", None], True),
        (["leader", None, None], False),
        (["follower", "follower", None], False),
        ([None], False),
    ],
)
def test_more_than_half_must_serve_and_one_must_lead(
    modes: list[str | None], quorate: bool
) -> None:
    assert is_quorate([{"mode": mode} for mode in modes]) is quorate
