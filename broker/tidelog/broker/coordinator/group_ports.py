"""Ports of a group coordinator beside its log: its observers, and its view of the controllers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tidelog.broker.coordinator.group_journal import GroupJournal
from tidelog.broker.coordinator.group_lag import GroupLag
from tidelog.metadata.image import MetadataImage


class GroupObservers(NamedTuple):
    """Parts that look at groups and decide nothing."""

    journal: GroupJournal
    lag: GroupLag


class ControllersView(NamedTuple):
    """Knowledge of the controllers, as of this broker."""

    image: Callable[[], MetadataImage]
    has_session: Callable[[], bool]
    """True while they have not given this broker up, as far as it can know by itself."""
    known_as_of_ms: Callable[[], int | None]
    """See `Lifecycle`."""
    confirm: Callable[[], Awaitable[bool]]
    """See `Lifecycle`."""
