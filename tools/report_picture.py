"""Writes the timeline of a chaos run as an SVG file that a Markdown page can show.

python tools/report_picture.py .chaos/…/F12-1/record.json docs/chaos/F12.svg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tidelog.chaos.report.record_json import RecordFormatError, from_json
from tidelog.chaos.report.timeline import timeline_svg


def main(arguments: Sequence[str]) -> int:
    """Return 0; 1 with a line on stderr if the file is not a record; 2 for wrong usage."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = map(Path, arguments)
    try:
        record = from_json(source.read_text(encoding="utf-8"))
    except (OSError, RecordFormatError) as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    target.write_text(timeline_svg(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
