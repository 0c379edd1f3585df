"""Operations of access rules by the names that v3 has for them."""

from __future__ import annotations

from ottla.client.administration.access import AclOperation


def operation_names(bits: int) -> list[str]:
    """The operations whose bits are set, as brokers tell them."""
    return [each.name for each in AclOperation if each > AclOperation.ALL and bits >> each & 1]
