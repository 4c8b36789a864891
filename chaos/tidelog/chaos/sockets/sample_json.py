"""Lines between a run and a node that it inspects: a question, then a sample. Pure.

The image travels as the pieces of a metadata snapshot, and only when the asker lacks it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.snapshot import SnapshotReader, pieces_of
from tidelog.v1.metadata_records_pb2 import MetadataSnapshotPiece


@dataclass(frozen=True, slots=True)
class Question:
    """The asker's state: the process it asked last, and what it has of that one."""

    pid: int = 0
    image_offset: int = -1
    lines_seen: int = 0
    """Lines that process had logged when it was last asked."""


@dataclass(frozen=True, slots=True)
class SampleReply:
    """A sample, and how many lines its process has logged; the image may be the asker's own."""

    sample: NodeSample
    lines_seen: int


def question_json(question: Question) -> str:
    """Serialize to one line."""
    return json.dumps(asdict(question)) + "\n"


def parse_question(text: str) -> Question:
    """Parse the output of `question_json`."""
    return Question(**json.loads(text))


def reply_json(reply: SampleReply, *, has_image: bool) -> str:
    """Serialize to one line, without the image when the asker has it."""
    sample = reply.sample
    values = {
        field.name: getattr(sample, field.name)
        for field in fields(sample)
        if field.name not in ("image", "replicas", "lines")
    }
    pieces = [] if has_image else map(_pack, pieces_of(sample.image))
    values |= {
        "image": list(pieces),
        "replicas": [asdict(one) for one in sample.replicas],
        "lines": [[line.node_id, line.at_s, line.event, line.fields] for line in sample.lines],
        "lines_seen": reply.lines_seen,
    }
    return json.dumps(values) + "\n"


def parse_reply(text: str, image: MetadataImage) -> SampleReply:
    """Parse the output of `reply_json`; `image` is the one the asker has."""
    values = json.loads(text)
    lines_seen = values.pop("lines_seen")
    return SampleReply(
        NodeSample(
            **{
                **values,
                "image": _unpack(values["image"]) or image,
                "replicas": tuple(map(_replica, values["replicas"])),
                "lines": tuple(LogLine(*line) for line in values["lines"]),
            }
        ),
        lines_seen,
    )


def _pack(piece: MetadataSnapshotPiece) -> str:
    return b64encode(piece.SerializeToString()).decode()


def _unpack(pieces: Iterable[str]) -> MetadataImage | None:
    reader, image = SnapshotReader(), None
    for piece in pieces:
        image = reader.take(MetadataSnapshotPiece.FromString(b64decode(piece)))
    return image


def _replica(values: Mapping[str, Any]) -> ReplicaSample:
    """JSON has arrays where a sample has tuples."""
    sample = ReplicaSample(**values)
    return replace(
        sample,
        isr=tuple(sample.isr),
        proposed_isr=tuple(sample.proposed_isr),
        maximal_isr=tuple(sample.maximal_isr),
        epochs=tuple((epoch, offset) for epoch, offset in sample.epochs),
    )
