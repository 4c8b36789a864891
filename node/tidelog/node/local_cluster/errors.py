"""Errors of a cluster of node processes on this machine."""

from __future__ import annotations

from tidelog.core.errors import TidelogError


class LocalClusterError(TidelogError):
    """A folder or a port cannot be used for the cluster; the message says what to change."""


class TakenPortError(LocalClusterError):
    """Another process listens on a port of the cluster."""
