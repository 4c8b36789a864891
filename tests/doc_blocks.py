"""Blocks of code in the documentation, and the test that runs each: a new block needs a line here.

A block is fenced, or indented by four spaces and begins with a command. Pages whose every block has
one fate stand in `WHOLE_PAGES`; the others' blocks are named by page and first line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:\A|\n)\n((?: {4}.*\n)+)")
_COMMAND = re.compile(r" {4}(make|tidelog|python|curl|\.venv/bin/\w+)\b")


class Block(NamedTuple):
    """A block of a page; `language` is empty where the fence names none, and for indented ones."""

    page: str
    language: str
    text: str

    @property
    def name(self) -> tuple[str, str]:
        """The page, and 50 characters of the first line without its remark."""
        first = self.text.partition("\n")[0]
        return self.page, re.sub(r"\s+#.*", "", first)[:50]


WHOLE_PAGES = {
    "docs/TOUR.md": "tests/integration/test_tour.py runs all of it",
    "docs/ARCHITECTURE.md": "pictures",
    "docs/KAFKA.md": "tests of tests/kafka and tests/spark run all of it, where the clients are",
    "docs/TESTING.md": "tests/testing/test_testing_page.py runs all of it",
    "docs/PROTOCOL.md": "tests/integration/test_protocol_page.py runs all of it",
}
ON_A_CLUSTER = {
    ("README.md", "pip install 'tidelog[server]'"),
    ("README.md", "import asyncio"),
    ("README.md", "from tidelog.client.sync import Producer"),
    ("README.md", "from tidelog.client import sync"),
    ("README.md", "make setup"),
    ("docs/GROUPS.md", "import asyncio"),
    ("docs/GROUPS.md", "from collections.abc import Sequence"),
    ("docs/GROUPS.md", "from tidelog.broker.coordinator.assignors.interfac"),
    ("docs/COMMANDS.md", 'tidelog sql "select partition, count(*) from topic'),
    ("docs/HISTORY.md", "$ tidelog check history.jsonl"),
}
"""Run by tests/integration/test_doc_blocks_run.py."""
IN_SPARK = {
    ("README.md", "import os, sys"),
    ("docs/SPARK.md", "orders = ("),
    ("docs/SPARK.md", "CREATE TEMPORARY VIEW orders USING tidelog"),
    ("docs/SPARK.md", "stream = ("),
    ("docs/SPARK.md", "("),
}
"""Run by tests/spark/test_doc_blocks_spark.py."""
_CHAOS = "starts six processes and a proxy: tests/chaos and `make chaos` run scenarios"
_SIM = "takes minutes: tests/sim runs seeds, `make prove` thousands"
_CLUSTER = "fixed ports: tests/integration/test_cluster_command.py starts others"
_BENCH = "takes an hour: tests/integration/test_bench_command.py runs parts"
_PICTURE = "needs the record of a run: tests/chaos draws others"
_SCENARIO = "tests/sim/test_own_scenario.py holds the same function and runs it"
_MAKE_SPARK = "tests/spark/test_make_spark.py runs it"
UNDERSTOOD = {
    ("CONTRIBUTING.md", "make setup"): "makes the environment that tests run in",
    ("README.md", "make cluster"): _CLUSTER,
    ("docs/BENCHMARKS.md", "make bench"): _BENCH,
    ("docs/BENCHMARKS.md", "make bench NAMES=groups"): _BENCH,
    ("docs/BENCHMARKS.md", "make bench NAMES=spark"): _BENCH,
    ("docs/BENCHMARKS.md", "make bench NAMES=transactions"): _BENCH,
    ("docs/BENCHMARKS.md", "python -m tests.benchmarks.local_cluster_bench --r"): _BENCH,
    ("docs/BENCHMARKS.md", "tidelog bench run --only wire --peer COMMAND"): _BENCH,
    ("docs/MUTANTS.md", "tidelog sim mutants --suite raft"): _SIM,
    ("docs/MUTANTS.md", "tidelog sim mutants --suite groups"): _SIM,
    ("docs/MUTANTS.md", "make chaos-mutants"): _CHAOS,
    ("docs/SIMULATION.md", "tidelog sim run --suite cluster --scenario F12 --s"): _SIM,
    ("docs/SIMULATION.md", "tidelog sim run --suite groups --seeds 0:100"): _SIM,
    ("docs/SIMULATION.md", "tidelog sim run --suite wire --seeds 0:100"): _SIM,
    ("docs/SIMULATION.md", "tidelog sim run --suite transactions --seeds 0:100"): _SIM,
    ("docs/SPARK.md", "make spark"): _MAKE_SPARK,
    ("docs/SPARK.md", "make spark OPTIONS='--topic orders --schema \"id lo"): _MAKE_SPARK,
    ("docs/chaos/README.md", "python tools/report_picture.py .chaos/…/F12-1/reco"): _PICTURE,
    ("docs/chaos/README.md", '@scenario("F99", Needs(has_separate_controllers=Fa'): _SCENARIO,
    ("docs/chaos/acks.md", "tidelog chaos run acks"): _CHAOS,
    ("docs/chaos/controller-cut-off.md", "tidelog chaos run F22"): _CHAOS,
    ("docs/chaos/hostile-clients.md", "tidelog chaos run F55 F56 F57 F58 F59 foreign-node"): _CHAOS,
    ("docs/chaos/leader-cut-from-controllers.md", "tidelog chaos run F05"): _CHAOS,
    ("docs/chaos/leader-cut-from-followers.md", "tidelog chaos run F04"): _CHAOS,
    ("docs/chaos/log-truncation.md", "tidelog chaos run F12"): _CHAOS,
    ("docs/chaos/unclean-election.md", "tidelog chaos run F19"): _CHAOS,
}
"""Not run, and why. Their commands are parsed, and their targets and modules looked up."""


def blocks() -> list[Block]:
    """All blocks of all pages."""
    return [block for page in PAGES for block in blocks_of(page)]


def blocks_of(path: Path) -> list[Block]:
    """The blocks of a page, fenced ones first."""
    page, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    found = [Block(page, language, body) for language, body in _FENCED.findall(text)]
    indented = filter(_COMMAND.match, _INDENTED.findall(_FENCED.sub("", text)))
    found += [Block(page, "", re.sub(r"^ {4}", "", one, flags=re.MULTILINE)) for one in indented]
    return found


def block(page: str, first_line: str) -> Block:
    """The block of a page that begins so."""
    (found,) = [one for one in blocks_of(ROOT / page) if one.name[1].startswith(first_line)]
    return found


def commands(text: str) -> list[str]:
    """The command lines of a block: continued ones joined, without remarks and outputs."""
    joined = text.replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in joined.splitlines()]
    return [line for line in lines if re.match(r"(make|tidelog|python|\.venv/bin/tidelog) ?", line)]
