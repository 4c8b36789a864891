"""Options of a read at `load()`: refused where no read takes them, whichever read Spark begins."""

from __future__ import annotations

import pytest

from tidelog.spark.option_values import OptionError
from tidelog.spark.read_check import check_read

NAMED = {"bootstrap.servers": "h:1", "subscribe": "t"}


@pytest.mark.parametrize(
    "given",
    [
        {},  # a stream needs queryId, a batch read does not
        {"startingOffsets": "latest", "queryId": "q"},
        {"maxOffsetsPerTrigger": "1", "startingOffsets": "earliest"},
        {"endingOffsets": "latest"},
    ],
)
def test_options_that_a_batch_or_a_streaming_read_takes_pass(given: dict[str, str]) -> None:
    assert check_read({**NAMED, **given}).text("subscribe") == "t"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maxOffsetsPerTrigger": "0"}, "read: option maxOffsetsPerTrigger is a whole number from"),
        (
            {"maxOffsetsPerTrigger": "1"},
            "^as a batch read: .* has no place in a batch read, but",
        ),
        ({"maxTriggerDelay": "1m", "queryId": "q"}, "read: option maxTriggerDelay has no meaning"),
        ({"endingOffsets": "earliest"}, '^as a batch read: option endingOffsets cannot be "earl'),
        ({"minPartitions": "0"}, "^as a batch read: option minPartitions is a whole number"),
        ({"failOnDataLoss": "maybe"}, "^option failOnDataLoss is true or false"),
        (
            {"startingOffsets": "latest"},
            "^as a batch read: .*nothing would be read; as a streaming read: .* option queryId",
        ),
    ],
)
def test_options_that_no_read_takes_are_refused_with_the_reason_of_each_read(
    given: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        check_read({**NAMED, **given})
