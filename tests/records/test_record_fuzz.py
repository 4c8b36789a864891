"""Whatever bytes come in, the batch decoder takes them or refuses them: nothing else happens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.records.decoder_fuzz import STEPS, decode, fuzz, sound_batches

from tidelog.records.batch import HEADER_BYTES, parse_header, seal

SOUND = sound_batches()


def test_damaged_batches_of_every_codec_are_taken_or_refused() -> None:
    counts = fuzz(executions=5_000, seed=4)
    for step in STEPS:
        assert counts[step, "taken"] > 20
        assert counts[step, "CorruptMessageError"] > 400
    assert counts["iter_records", "UnsupportedCompressionTypeError"] > 20


@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    assert not noise or decode(noise)["iter_batches"] != "taken"


@given(noise=st.binary(max_size=300), attributes=st.integers(0, 7), count=st.integers(0, 2**31 - 1))
def test_noise_under_a_right_crc_is_taken_or_refused(
    noise: bytes, attributes: int, count: int
) -> None:
    fields = parse_header(SOUND[0])._replace(attributes=attributes, records_count=count)
    decode(seal(fields, noise))


@given(
    sound=st.sampled_from(SOUND),
    edits=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2), st.binary(max_size=11))),
)
def test_edited_records_under_a_right_crc_are_taken_or_refused(
    sound: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    payload = bytearray(sound[HEADER_BYTES:])
    for at, removed, added in edits:
        payload[at : at + removed] = added
    decode(seal(parse_header(sound), payload))
