"""Members of groups that are programs in other languages: franz-go's, and those of Java's client.

A program prints "owned 0 1" when its partitions change and "value TEXT" for what it has read and
committed, and leaves when its input ends.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.doc_blocks import ROOT
from tests.kafka.group_members import DEADLINE_S, Joining, Member

HERE = Path(__file__).parent
BUILD_S_MAX = 900
_BUILD_OPTIONS = ("-mod=readonly", "-buildvcs=false")
_BUILD_ENVIRONMENT = {
    "GOFLAGS": "-modcacherw",
    "GOWORK": "off",
    "GOTOOLCHAIN": "local",
    "CGO_ENABLED": "0",
}


class ProgramMember(Member):
    """A member that is a program; skips the test where the program cannot be had."""

    def __init__(self, joining: Joining) -> None:
        self._process = subprocess.Popen(
            self.command(joining),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        super().__init__(joining)

    def command(self, joining: Joining) -> list[str]:
        """The command line."""
        raise NotImplementedError

    def close(self) -> None:
        """See `Member.close`."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()
        super().close()

    def work(self) -> None:
        """Take what the program prints until it ends."""
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "owned":
                self.owned = frozenset((self.joining.topic, int(one)) for one in rest.split())
            elif word == "value":
                self.values.append(rest.encode())
        told = process.stderr.read()
        assert process.wait(DEADLINE_S) == 0, told


# franz-go


@cache
def franz_go() -> str:
    """The program of tests/kafka/franz_go, built once; skips the test where it cannot be.

    go.mod and go.sum pin what Go fetches, whatever the user's GOFLAGS say.
    """
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("franz-go: there is no go")
    source = HERE / "franz_go"
    files = [source / name for name in ("main.go", "go.mod", "go.sum")]
    version = hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:16]
    tools = ROOT / ".tools" / "franz_go"
    program = tools / f"franz_go-{version}"
    if not program.exists():
        tools.mkdir(parents=True, exist_ok=True)
        # Others may build it at the same time.
        built_at = tools / f"{program.name}.{os.getpid()}"
        built = subprocess.run(
            [go, "build", "-C", str(source), *_BUILD_OPTIONS, "-o", str(built_at), "."],
            env=os.environ | _BUILD_ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=BUILD_S_MAX,
            check=False,
        )
        if built.returncode:
            pytest.skip(f"franz-go: it cannot be built: {built.stderr.strip()[-300:]}")
        built_at.replace(program)
    return str(program)


class FranzMember(ProgramMember):
    """One of franz-go; the strategy `consumer` is the consumer protocol."""

    def command(self, joining: Joining) -> list[str]:
        """See `ProgramMember.command`."""
        instance = [] if joining.instance_id is None else [joining.instance_id]
        told = [joining.group_id, joining.topic, joining.strategy, *instance]
        return [franz_go(), "member", joining.bootstrap, *told]


# Java's client


def java_missing(jars: str) -> str | None:
    """Why Java's client of a folder cannot be tried."""
    if not list(Path(jars or "/nowhere").glob("kafka-clients-*.jar")):
        return "no folder with a kafka-clients jar is named"
    if shutil.which("java") is None:
        return "there is no java"
    modules = subprocess.run(
        ["java", "--list-modules"], capture_output=True, text=True, check=False
    ).stdout
    return None if "jdk.compiler" in modules else "java has no compiler: a JDK is needed"


def java_command(jars: str, *arguments: str) -> list[str]:
    """A command line that runs tests/kafka/java/KafkaClient.java."""
    quick = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    log = HERE / "java" / "log4j2.properties"
    silent = (f"-Dlog4j2.configurationFile={log}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    source = HERE / "java" / "KafkaClient.java"
    return ["java", *quick, *silent, "-cp", f"{jars}/*", str(source), *arguments]


class JavaMember(ProgramMember):
    """One of Java's client, of the jars that `TIDELOG_KAFKA_JARS` names."""

    VARIABLE = "TIDELOG_KAFKA_JARS"

    def command(self, joining: Joining) -> list[str]:
        """See `ProgramMember.command`."""
        jars = os.environ.get(self.VARIABLE, "")
        missing = java_missing(jars)
        if missing is not None:
            pytest.skip(f"Java's client by {self.VARIABLE}: {missing}")
        instance = [] if joining.instance_id is None else [joining.instance_id]
        told = [joining.group_id, joining.topic, joining.strategy, *instance]
        return java_command(jars, "member", joining.bootstrap, *told)


class OldJavaMember(JavaMember):
    """One of an older client, 3.9."""

    VARIABLE = "TIDELOG_KAFKA_OLD_JARS"
