"""The error of a benchmark run."""

from __future__ import annotations


class RunFailedError(Exception):
    """A part of the benchmark did not run; the other parts continue."""
