"""Frames of a small protocol in the form of Kafka's, and a connection that is fed with bytes."""

from __future__ import annotations

from struct import pack, unpack_from

from tidelog.broker.kafka.connection import Connection, ConnectionRules, Request
from tidelog.broker.kafka.frame_reader import READ_BYTES
from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.kafka.request_header import ApiForm

PRODUCE, FETCH, METADATA, VERSIONS = 0, 1, 3, 18
FORMS = {
    **{(PRODUCE, version): ApiForm(1, 0) for version in range(3)},
    (PRODUCE, 9): ApiForm(2, 1),
    (FETCH, 0): ApiForm(1, 0),
    (METADATA, 0): ApiForm(1, 0),
    (METADATA, 12): ApiForm(2, 1),
    (VERSIONS, 4): ApiForm(2, 0),
    (7, 0): ApiForm(0, 0),
}


def form_of(api_key: int, api_version: int) -> ApiForm | None:
    return FORMS.get((api_key, api_version))


def rules(
    *,
    frame_bytes_max: int = 1 << 20,
    queued_bytes_max: int = 4 << 20,
    budget: RequestBudget | None = None,
) -> ConnectionRules:
    """Rules of a node without load."""
    return ConnectionRules(
        forms=form_of,
        pipelined=frozenset({PRODUCE}),
        abandoned=frozenset({FETCH}),
        frame_bytes_max=frame_bytes_max,
        budget=budget or RequestBudget(queued_bytes_max, frame_bytes_max),
        scratch=memoryview(bytearray(READ_BYTES)),
        is_full=lambda: False,
    )


def head(
    api_key: int, version: int, correlation_id: int, client_id: str | bytes | None, *, form: int
) -> bytes:
    """A request header in the form 0, 1 or 2."""
    text = client_id.encode() if isinstance(client_id, str) else client_id
    named = pack(">h", -1) if text is None else pack(">h", len(text)) + text
    fixed = pack(">hhi", api_key, version, correlation_id)
    return fixed + (named if form else b"") + (b"\x00" if form > 1 else b"")


def framed(content: bytes) -> bytes:
    return pack(">i", len(content)) + content


def frame(
    api_key: int,
    correlation_id: int,
    body: bytes = b"",
    *,
    version: int = 0,
    client_id: str | bytes | None = "me",
) -> bytes:
    """A whole request."""
    form = FORMS.get((api_key, version), ApiForm(1, 0)).request_header
    return framed(head(api_key, version, correlation_id, client_id, form=form) + body)


def answers_in(data: bytes) -> list[tuple[int, bytes]]:
    """Correlation id and the rest of each answer."""
    found, at = [], 0
    while at < len(data):
        size, correlation_id = unpack_from(">ii", data, at)
        found.append((correlation_id, data[at + 8 : at + 4 + size]))
        at += 4 + size
    assert at == len(data)
    return found


class Peer:
    """The other end of a connection: its bytes go in as far as they are read."""

    def __init__(self, of: ConnectionRules | None = None, address: str = "") -> None:
        self.rooms = 0
        self.begun: list[Request] = []
        self.read_bytes = b""
        self.unread = b""
        self.connection = Connection(of or rules(), self._on_room, address)

    def _on_room(self) -> None:
        self.rooms += 1

    def send(self, data: bytes, *, piece: int = 1 << 30) -> None:
        """Send bytes, at most `piece` at a time."""
        self.unread += data
        self._deliver(piece)

    def resume(self) -> None:
        """As the shell does when there is room."""
        self.begun += self.connection.resume()
        self._deliver(1 << 30)

    def answer(self, request: Request, *buffers: bytes) -> None:
        self.begun += self.connection.answer(request, buffers)
        self._deliver(1 << 30)

    def answer_nothing(self, request: Request) -> None:
        self.begun += self.connection.answer(request, None)

    def read(self, most: int = 1 << 30) -> None:
        """Read what was sent."""
        while most > 0 and (buffers := self.connection.answers.outgoing()):
            taken = b"".join(buffers)[:most]
            self.read_bytes += taken
            most -= len(taken)
            self.connection.answers.note_sent(len(taken))
        self.resume()

    @property
    def correlation_ids(self) -> list[int]:
        """Of begun requests."""
        return [one.header.correlation_id for one in self.begun]

    @property
    def answers(self) -> list[tuple[int, bytes]]:
        self.read()
        return answers_in(self.read_bytes)

    def _deliver(self, piece: int) -> None:
        while self.unread and self.connection.is_reading:
            space = self.connection.space()
            count = min(len(space), len(self.unread), piece)
            assert count > 0, "a connection that reads has space"
            space[:count] = self.unread[:count]
            self.unread = self.unread[count:]
            self.begun += self.connection.received(count)
