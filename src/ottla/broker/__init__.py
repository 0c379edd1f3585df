"""Sockets, dispatch, and one handler file per API."""
