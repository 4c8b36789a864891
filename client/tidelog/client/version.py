"""The version of the installed package, as its metadata has it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

NOT_INSTALLED = "0+not.installed"
"""Version of modules that are imported from a folder without an installed distribution: a valid
version that sorts below all others.
"""


def installed_version() -> str:
    """The version of the distribution `tidelog`, of a wheel or of a checkout; or NOT_INSTALLED."""
    try:
        return version("tidelog")
    except PackageNotFoundError:
        return NOT_INSTALLED
