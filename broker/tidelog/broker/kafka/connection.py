"""A connection of Kafka's protocol: received bytes in, requests out; answers in, buffers out. Pure.

    bytes ─► FrameReader ─► waiting ─► begun (a handler works) ─► answered ─► AnswerQueue ─► buffers

Requests begin, and are answered, in the order in which they came. One begins when all before it
are answered, as in Kafka, so that a waiting fetch holds those behind it; only pipelined APIs
(produce) begin while others of their kind are at work. No more bytes are read while IN_FLIGHT_MAX
requests are unanswered, while answers are unsent, while the broker is full of this connection's
requests, or while no room is left for the next request.

After bytes that are no request, or a handler's wish to close, nothing more is read; what came
before is still answered and sent, and then the connection `is_finished`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.broker.kafka.answer_queue import AnswerQueue, Buffer
from tidelog.broker.kafka.frame_reader import Frame, FrameReader
from tidelog.broker.kafka.request_budget import RequestBudget, RequestRoom
from tidelog.broker.kafka.request_header import (
    ApiForm,
    ApiForms,
    RefusedFrameError,
    RequestHeader,
    read_header,
)

IN_FLIGHT_MAX = 64
"""Maximum unanswered requests of a connection."""
UNSENT_BYTES_MAX = 64 << 10
"""Bytes of unsent answers from which on nothing more is read or begun."""


@dataclass(frozen=True, slots=True)
class ConnectionRules:
    """Common parts of all connections of a node."""

    forms: ApiForms
    pipelined: frozenset[int]
    """Keys of APIs whose requests begin while earlier ones of these APIs are unanswered."""
    abandoned: frozenset[int]
    """Keys of APIs whose requests end with their connection; all others are carried out."""
    frame_bytes_max: int
    budget: RequestBudget
    scratch: memoryview
    """Buffer of READ_BYTES that all connections use in turn."""
    is_full: Callable[[], bool]
    """Function that tells if the broker takes no more from connections it already works for."""


class Request:
    """A request in flight. Answer it once, by `Connection.answer` or `close_after`."""

    __slots__ = (
        "_room",
        "answered",
        "body",
        "form",
        "has_ended",
        "header",
        "size",
    )

    def __init__(
        self,
        header: RequestHeader,
        form: ApiForm,
        body: memoryview,
        *,
        size: int,
        room: RequestRoom,
    ) -> None:
        self.header = header
        self.form = form
        self.body = body
        """The bytes behind the header; not to be changed."""
        self.size = size
        """Bytes of the frame."""
        self.has_ended = False
        self._room: RequestRoom | None = room
        self.answered: tuple[Sequence[Buffer] | None, Callable[[], None]] | None = None
        """Its answer, if it has one, and what to call when that was sent; for `Connection`."""

    def release(self) -> None:
        """Give back the room that its bytes take: call it when `body` is held no longer.

        An answer does so in any case; a request that waits for long does it before.
        """
        room, self._room = self._room, None
        if room is not None:
            self.body = memoryview(b"")
            room.release()

    @property
    def held_bytes(self) -> int:
        """Bytes of its room, 0 when it is given back."""
        return 0 if self._room is None else self._room.held_bytes


class Connection:
    """The state of one connection.

    Begin the requests that `received`, `answer` and `resume` return, in their order; afterwards
    send what is `outgoing`, heed `is_reading`, and close when it `is_finished`. `on_room` asks to
    call `resume` soon.
    """

    def __init__(
        self, rules: ConnectionRules, on_room: Callable[[], None], address: str = ""
    ) -> None:
        self.requests = 0
        """Number of requests since the connection began."""
        self.refusal: RefusedFrameError | None = None
        """Reason why nothing more is read."""
        self.answers = AnswerQueue()
        self._rules = rules
        self._reader = FrameReader(
            frame_bytes_max=rules.frame_bytes_max,
            budget=rules.budget,
            scratch=rules.scratch,
            on_room=on_room,
            address=address,
        )
        self._waiting: deque[Request] = deque()
        self._begun: deque[Request] = deque()
        self._is_closing = False
        self._needs_bytes = True

    @property
    def received_bytes(self) -> int:
        """Bytes since the connection began."""
        return self._reader.received_bytes

    @property
    def is_busy(self) -> bool:
        """True while a request is unanswered or an answer unsent."""
        return bool(self._begun or self._waiting or self.answers.unsent_bytes)

    @property
    def is_filling(self) -> bool:
        """True while a large frame that was begun is not whole: its room is kept from others."""
        return self._reader.is_filling

    @property
    def filling_bytes(self) -> int:
        """Size of that frame."""
        return self._reader.frame_bytes

    @property
    def is_waiting_for_room(self) -> bool:
        """True while the next bytes have no room, whatever the peer does."""
        return self._reader.is_waiting_for_room

    @property
    def is_reading(self) -> bool:
        """True if further bytes are to be received."""
        return self._needs_bytes and not self._is_closing

    @property
    def is_finished(self) -> bool:
        """True when the connection is to be closed."""
        return self._is_closing and not self.is_busy

    def space(self) -> memoryview:
        """Return where the next bytes go; ask only while it `is_reading`."""
        return self._reader.space()

    def received(self, count: int) -> list[Request]:
        """Take `count` bytes that were put into `space`; return the requests to begin."""
        self._reader.fill(count)
        return self.resume()

    def resume(self) -> list[Request]:
        """Return the requests that may begin now."""
        # A frame that was begun is received to its end: it keeps its room from others.
        self._needs_bytes = self._reader.needs_bytes
        while self._may_read():
            frame = self._next_frame()
            if frame is None:
                self._needs_bytes = not self._reader.is_waiting_for_room
                break
            self._take(frame)
        return self._begin()

    def answer(
        self,
        request: Request,
        buffers: Sequence[Buffer] | None,
        on_sent: Callable[[], None] = lambda: None,
    ) -> list[Request]:
        """Answer a request, or end one that has no answer; return the requests to begin.

        `on_sent` is called when the answer was sent or never will be.
        """
        if request.has_ended:
            on_sent()
            return []
        request.answered = (buffers, on_sent)
        request.has_ended = True
        request.release()
        self._queue_answers()
        return self.resume()

    def close_after(self, request: Request) -> None:
        """Close when everything before the request is answered; it has no answer itself."""
        if request.has_ended:
            return
        self._stop_reading()
        behind = list(self._begun)[self._begun.index(request) :]
        for one in (*behind, *self._waiting):
            self._drop(one)
        self._waiting.clear()
        while self._begun and self._begun[-1] in behind:
            self._begun.pop()

    def finish(self) -> None:
        """Read no more; answer and send what came."""
        self._stop_reading()

    def end(self) -> list[Request]:
        """Note that the peer is gone; return the requests to begin.

        A request that has arrived is carried out, as in Kafka, though nobody gets its answer;
        only those of abandoned APIs have ended.
        """
        self._stop_reading()
        self.answers.close()
        for requests in (self._begun, self._waiting):
            for one in [one for one in requests if one.header.api_key in self._rules.abandoned]:
                requests.remove(one)
                self._drop(one)
        self._queue_answers()
        return self._begin()

    def _may_read(self) -> bool:
        unanswered = len(self._begun) + len(self._waiting)
        return (
            not self._is_closing
            and unanswered < IN_FLIGHT_MAX
            and self.answers.unsent_bytes < UNSENT_BYTES_MAX
            and not (unanswered and self._rules.is_full())
            and not (unanswered and self._holds_its_share())
        )

    def _holds_its_share(self) -> bool:
        held = sum(one.held_bytes for one in (*self._begun, *self._waiting))
        return held >= self._rules.budget.connection_bytes_max

    def _next_frame(self) -> Frame | None:
        try:
            return self._reader.next_frame()
        except RefusedFrameError as error:
            self._refuse(error)
            return None

    def _take(self, frame: Frame) -> None:
        try:
            header, form, body = read_header(frame.data, self._rules.forms)
        except RefusedFrameError as error:
            frame.room.release()
            self._refuse(error)
            return
        self.requests += 1
        request = Request(header, form, body, size=len(frame.data), room=frame.room)
        self._waiting.append(request)

    def _begin(self) -> list[Request]:
        begun: list[Request] = []
        while self._waiting and self._may_begin(self._waiting[0]):
            request = self._waiting.popleft()
            self._begun.append(request)
            begun.append(request)
        return begun

    def _may_begin(self, request: Request) -> bool:
        if self.answers.unsent_bytes >= UNSENT_BYTES_MAX:
            return False
        if not self._begun:
            return True
        return self._is_pipelined(request) and self._is_pipelined(self._begun[-1])

    def _is_pipelined(self, request: Request) -> bool:
        return request.header.api_key in self._rules.pipelined

    def _queue_answers(self) -> None:
        while self._begun and (answer := self._begun[0].answered) is not None:
            request, (buffers, on_sent) = self._begun.popleft(), answer
            if buffers is None:
                on_sent()
                continue
            self.answers.add(
                request.header.correlation_id,
                buffers,
                answer_header=request.form.answer_header,
                on_sent=on_sent,
            )

    def _refuse(self, error: RefusedFrameError) -> None:
        self.refusal = error
        self._stop_reading()

    def _stop_reading(self) -> None:
        self._is_closing = True
        self._reader.close()

    def _drop(self, request: Request) -> None:
        request.has_ended = True
        request.release()
        if request.answered is not None:
            request.answered[1]()
