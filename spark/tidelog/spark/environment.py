"""Checks of the packages, the Java and the Python that the Spark data source needs.

`package_fault`, `java_fault` and `python_fault` evaluate the results of the checks. Installs
nothing and sets no environment variable.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

JAVA_LEAST = 17
"""Spark 4 runs on Java 17 and newer."""
_PACKAGES: Mapping[str, tuple[str, tuple[int, ...], tuple[int, ...] | None]] = {
    # Spark may change its Python data source API with every minor release.
    "pyspark": ("4.3", (4, 3), (4, 4)),
    "pyarrow": ("18 or newer", (18,), None),
    "numpy": ("2 or newer", (2,), None),
}
"""The required version of each package: in words, the minimum, and the first too new one."""
_OWN, _OTHERS = "tidelog", (*_PACKAGES, "grpc")
"""The packages of the workers' Python: this one, which a session may send, and the others."""
_COMMAND_TIMEOUT_S = 60
# The commands by which Spark's own start script finds both.
_JAVA = '"${JAVA_HOME:+$JAVA_HOME/bin/}java" -version'
_PYTHON = '"${PYSPARK_PYTHON:-python3}" -c "$0" "$@"'
_LOOK_AROUND = """
import sys
from importlib.util import find_spec
missing = [name for name in sys.argv[1:] if not find_spec(name)]
print("%d.%d" % sys.version_info[:2], *missing)
"""


class SetupError(RuntimeError):
    """A requirement is missing or has the wrong version; the message says what to do."""


def check_packages() -> None:
    """Raise SetupError unless this Python has the packages of the extra tidelog[spark]."""
    _raise(package_fault({name: _find_installed(name) for name in _PACKAGES}))


def check_java() -> None:
    """Raise SetupError unless the Java that Spark would run exists and is new enough."""
    _raise(java_fault(_run_shell(_JAVA)))


def check_session(*, is_shipped: bool = False) -> None:
    """Raise SetupError unless a Spark session can start from here and run the data source.

    `is_shipped`: the session sends this package to its workers, whose Python need not have it.

    Runs the Java and the Python that Spark would run. Call it before building a session: without
    Java PySpark says JAVA_GATEWAY_EXITED, with another Python its workers end in EOFError.
    """
    check_packages()
    check_java()
    looked = _run_shell(_PYTHON, _LOOK_AROUND, *_OTHERS, *(() if is_shipped else (_OWN,)))
    _raise(python_fault(looked, own="{}.{}".format(*sys.version_info)))


def package_fault(installed: Mapping[str, str | None]) -> str | None:
    """The fault of installed package versions by name (None: not installed); None if all fit."""
    for name, (wanted, least, too_new) in _PACKAGES.items():
        found = installed[name]
        if found is None:
            return f"{name} is not installed: pip install 'tidelog[spark]'"
        numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
        if numbers < least or (too_new is not None and numbers >= too_new):
            return (
                f"{name} {found} is installed, the tidelog data source needs {name} {wanted}: "
                "pip install 'tidelog[spark]'"
            )
    return None


def java_fault(said: str) -> str | None:
    """The fault of a Java with this output of `java -version`; None if it fits."""
    remedy = (
        f"Spark needs Java {JAVA_LEAST} or newer: install it (Debian: apt-get install "
        "default-jre-headless), and set JAVA_HOME or PATH to it"
    )
    found = re.search(r'version "(?:1\.)?(\d+)', said)  # Java 8 calls itself 1.8
    if found is None:
        return f"no Java was found: {remedy}"
    if int(found[1]) < JAVA_LEAST:
        return f"Java {found[1]} was found: {remedy}"
    return None


def python_fault(said: str, *, own: str) -> str | None:
    """The fault of the Python of Spark's workers; `own` is this Python's version, like 3.11.

    `said` is its output: its version and the packages that it lacks.
    """
    remedy = f"set the environment variable PYSPARK_PYTHON to {sys.executable} before Spark starts"
    words = said.split()
    if not words or re.fullmatch(r"\d+\.\d+", words[0]) is None:
        return f"the Python of Spark's workers does not run: {remedy}"
    found, *missing = words
    if found != own:
        return f"Spark's workers would run on Python {found}, this is {own}: {remedy}"
    if missing:
        return f"the Python of Spark's workers lacks {', '.join(missing)}: {remedy}"
    return None


def _raise(fault: str | None) -> None:
    if fault is not None:
        raise SetupError(fault)


def _find_installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _run_shell(command: str, *arguments: str) -> str:
    """The output of a shell command, stderr included, where java prints its version."""
    try:
        done = subprocess.run(
            ["sh", "-c", command, *arguments],
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""
