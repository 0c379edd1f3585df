"""Pure: what can go wrong while two sides make sure of each other."""

from __future__ import annotations

from ottla.base.errors import OttlaError


class LoginFailed(OttlaError):
    """A SASL conversation that cannot go on; its text continues a sentence that begins with the broker."""
