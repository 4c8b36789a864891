"""Derives proto/kafka/*.schema from the definitions in kafka-clients' jar, or compares them.

    tools/kafka_schemas.py --jars DIR            write
    tools/kafka_schemas.py --jars DIR --check    compare; changes nothing

DIR holds kafka-clients-VERSION.jar, or has it somewhere below. TIDELOG_KAFKA_JARS names it where
the option does not; if the jar is not there either, `--check` says that nothing was compared. Facts
are taken and written in a notation of ours (`kafka_notation`): names, types, versions, tags,
defaults. Sentences and comments are not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

from kafka_notation import NONE, Field, Message, Struct, Versions, write

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "proto" / "kafka"
VERSION = "4.3.1"
"""The version of kafka-clients that the schemas are of."""

APIS = (
    *("Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch"),
    *("FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup"),
    *("DescribeGroups", "ListGroups", "ApiVersions", "CreateTopics", "DeleteTopics"),
    *("DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "DescribeConfigs"),
    *("AlterConfigs", "DescribeLogDirs", "CreatePartitions", "DeleteGroups", "ElectLeaders"),
    *("IncrementalAlterConfigs", "OffsetDelete", "DescribeQuorum", "DescribeCluster"),
    *("DescribeProducers", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
    *("ListConfigResources", "DescribeTopicPartitions"),
)
"""The APIs whose messages we read and write: none of transactions or reassignment yet."""
OTHERS = {
    "Headers": ("RequestHeader", "ResponseHeader"),
    "ConsumerProtocol": ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
}
"""Files of messages that no API has."""

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_PLAIN_DEFAULTS = ("", "0", "false")


def file_name(api: str) -> str:
    """The schema's file and the module's name: snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()


def derived(jar: Path) -> dict[str, str]:
    """Name and content of each schema file."""
    with zipfile.ZipFile(jar) as archive:
        files = {api: (f"{api}Request", f"{api}Response") for api in APIS} | OTHERS
        return {
            f"{file_name(name)}.schema": _text([_message(archive, one) for one in messages])
            for name, messages in files.items()
        }


def _text(messages: list[Message]) -> str:
    head = f"# kafka-clients {VERSION}, by tools/kafka_schemas.py; do not edit.\n\n"
    return head + write(messages)


def _message(archive: zipfile.ZipFile, name: str) -> Message:
    source = archive.read(f"common/message/{name}.json").decode()
    facts: dict[str, Any] = json.loads(_COMMENT.sub("", source))
    versions = Versions.parse(facts["validVersions"], Versions(0, 1 << 15))
    structs = [
        Struct(one["name"], own := Versions.parse(one["versions"], versions), _fields(one, own))
        for one in facts.get("commonStructs", ())
    ]
    return Message(
        kind=facts["type"],
        key=facts.get("apiKey"),
        name=facts["name"],
        versions=versions,
        flexible=Versions.parse(facts["flexibleVersions"], versions),
        is_unstable=bool(facts.get("latestVersionUnstable")),
        fields=_fields(facts, versions),
        structs=[struct for struct in structs if not struct.versions.is_empty],
    )


def _fields(facts: dict[str, Any], outer: Versions) -> list[Field]:
    fields = [_field(one, outer) for one in facts.get("fields", ())]
    return [one for one in fields if not one.versions.is_empty]


def _field(facts: dict[str, Any], outer: Versions) -> Field:
    versions = Versions.parse(facts["versions"], outer)
    return Field(
        name=facts["name"],
        type=facts["type"],
        versions=versions,
        nullable=Versions.parse(facts.get("nullableVersions", "none"), versions),
        tag=facts.get("tag"),
        tagged=Versions.parse(facts["taggedVersions"], versions) if "tag" in facts else NONE,
        is_inflexible=facts.get("flexibleVersions") == "none",
        default=_default(facts),
        fields=_fields(facts, versions),
    )


def _default(facts: dict[str, Any]) -> str | None:
    if "default" not in facts:
        return None
    word = str(facts["default"]).lower()
    if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", word):
        word = str(int(word, 0))
    return None if word in _PLAIN_DEFAULTS else word


def jar_in(folder: Path) -> Path | None:
    """The jar of `VERSION` in the folder or below it."""
    return next(iter(sorted(folder.rglob(f"kafka-clients-{VERSION}.jar"))), None)


def problems(jar: Path) -> list[str]:
    """A line for each schema that is missing, left over, or differs from the derived one."""
    fresh = derived(jar)
    kept = {path.name: path.read_text() for path in SCHEMAS.glob("*.schema")}
    return [
        f"proto/kafka/{name}: not what {jar.name} gives; run tools/kafka_schemas.py --jars DIR"
        for name in sorted(fresh.keys() | kept.keys())
        if fresh.get(name) != kept.get(name)
    ]


def main(arguments: list[str]) -> int:
    """Write, or compare with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--jars")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    folder = options.jars or os.environ.get("TIDELOG_KAFKA_JARS")
    jar = jar_in(Path(folder)) if folder else None
    if jar is None:
        where = f"below {folder}" if folder else "(TIDELOG_KAFKA_JARS is not set)"
        missing = f"no kafka-clients-{VERSION}.jar {where}"
        print(f"{missing}: proto/kafka is not compared with its origin", file=sys.stderr)
        return 0 if options.check and not options.jars else 1
    if options.check:
        found = problems(jar)
        print("".join(f"{problem}\n" for problem in found), end="", file=sys.stderr)
        return 1 if found else 0
    SCHEMAS.mkdir(exist_ok=True)
    for old in SCHEMAS.glob("*.schema"):
        old.unlink()
    for name, text in derived(jar).items():
        (SCHEMAS / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
