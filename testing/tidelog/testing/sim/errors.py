"""Errors of simulated tests. Each says what to do."""

from __future__ import annotations


class SimulatedTestError(Exception):
    """A mistake in the use of simulated tests; nothing was run."""


class OutsideSimulationError(RuntimeError):
    """Code in a simulated test asked for what no simulation has: a socket, a thread, a process."""


class NotSettledError(AssertionError):
    """The cluster, or what the test waits for, did not come to rest in time."""


class BrokenPromiseError(AssertionError):
    """Tidelog broke a promise: a bug of Tidelog, not of the test that found it."""


class NotDeterministicError(AssertionError):
    """The same seed ran in two ways; the message names the first difference and usual causes."""
