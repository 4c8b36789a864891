"""A run that is interrupted cleans up; the clean-up is not interrupted."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until what happens inside is done, and are then forgotten."""
    before = [signal.signal(number, signal.SIG_IGN) for number in _ENDING]
    try:
        yield
    finally:
        for number, handler in zip(_ENDING, before, strict=True):
            signal.signal(number, handler)
