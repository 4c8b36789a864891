"""The check of a read's options at `load()`, before Spark decides between batch and stream.

Pure. PySpark replaces the error of a streaming reader that cannot be made by one of its own
(`UnboundLocalError: … 'reader'`), so wrong options are refused where the data source is made.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.spark.option_values import OptionError
from tidelog.spark.options import READ, Options
from tidelog.spark.planner import parse_options
from tidelog.spark.stream_options import StreamOptions


def check_read(given: Mapping[str, str]) -> Options:
    """The options, valid for a batch read or a streaming read.

    Raises OptionError for options that are valid for neither. Options that are valid for one of the
    two pass here; the reader of the other refuses them.
    """
    options = Options(given, known=READ, purpose="a read")
    batch, stream = _refusal(parse_options, given), _refusal(StreamOptions.parse, given)
    if batch is None or stream is None:
        return options
    if str(batch) == str(stream):
        raise batch
    raise OptionError(f"as a batch read: {batch}; as a streaming read: {stream}")


def _refusal(
    parse: Callable[[Mapping[str, str]], object], given: Mapping[str, str]
) -> OptionError | None:
    try:
        parse(given)
    except OptionError as error:
        return error
    return None
