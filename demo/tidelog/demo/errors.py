"""Errors of the demo."""

from __future__ import annotations

from tidelog.core.errors import TidelogError


class DemoError(TidelogError):
    """A step of the demo cannot run; the message says what is missing or went wrong."""
