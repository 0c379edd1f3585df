"""Finds transactions by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.base.errors import ApiError
from ottla.cli.names import NotThere
from ottla.cli.parsing import did_you_mean
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.transactions import TransactionDescription


async def find_transaction(admin: Admin, name: str) -> TransactionDescription:
    """A transaction by its id."""
    found = (await admin.describe_transactions([name]))[name]
    if not isinstance(found, ApiError):
        return found
    if found.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise found
    listed = await admin.list_transactions()
    known = [each.transactional_id for transactions in listed.values() for each in transactions]
    hint = did_you_mean(name, known) or "; `ottla transactions list` shows what there is"
    raise NotThere(f"there is no transactional id {name}{hint}")
