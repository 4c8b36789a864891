"""The controller's core: a command and an image in, records and a reply out.

Owns what is not in the image: broker sessions, the newest attempts of brokers' requests and the
hold. Never changes an image; the records it returns do, once committed, by
`tidelog.metadata.delta.replay`. Each kind of command decides by its row in `commands`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Any

from tidelog.core.env import Random
from tidelog.core.errors import BrokerNotAvailableError, KafkaError
from tidelog.metadata import command_ids
from tidelog.metadata.attempts import Attempts, is_numbered
from tidelog.metadata.commands import COMMANDS, CommandRow
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, NoRoomError, size_of
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.plans import Slice
from tidelog.metadata.sessions import Sessions, Vacancies
from tidelog.metadata.settling import Settled, find_unsettled


class Controller:
    """Decides on commands while its node is the active controller."""

    def __init__(self, config: ControllerConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._sessions = Sessions(config.session_timeout_ms)
        self._attempts = Attempts()
        self._vacancies = Vacancies()
        self._settled = Settled()
        self._held_until_ms: int | None = None

    def activate(self, now_ms: int, *, controller_epoch: int) -> None:
        """Start as the active controller: every unfenced broker gets a full session from now.

        Numbered requests that do not name this controller epoch are refused.
        """
        self._sessions.restart(now_ms)
        self._settled = Settled()
        self._attempts.restart(controller_epoch)

    def hold(self, until_ms: int) -> None:
        """Fence no broker and refuse AlterPartition until this monotonic time.

        The cluster is about to stop as one. Registrations go on.
        """
        self._held_until_ms = until_ms

    def release(self) -> None:
        """End the hold now; brokers that fell silent during it are fenced at the next check."""
        self._held_until_ms = None

    def hear(self, broker_id: int, broker_epoch: int, image: MetadataImage, now_ms: int) -> None:
        """Note that something other than a heartbeat came from this incarnation of a broker."""
        if image.has_live(broker_id, broker_epoch):
            self._sessions.touch(broker_id, now_ms)

    def find_doubtful(self, image: MetadataImage, now_ms: int) -> list[int]:
        """Brokers to dial, since their session is about to end; each once in a silence."""
        return [] if self._is_held(now_ms) else self._sessions.find_doubtful(image, now_ms)

    def note_answered(
        self, broker_id: int, broker_epoch: int, image: MetadataImage, now_ms: int
    ) -> None:
        """Note that this incarnation of a broker answered a dial; see `Sessions`."""
        if image.has_live(broker_id, broker_epoch):
            self._sessions.note_answered(broker_id, now_ms)

    def forgive(self, stood_still_ms: int, now_ms: int) -> None:
        """See `Sessions.forgive`."""
        self._sessions.forgive(stood_still_ms, now_ms)

    def has_expired_sessions(self, image: MetadataImage, now_ms: int) -> bool:
        """True when `ExpireSessions` has something to do."""
        return not self._is_held(now_ms) and bool(self._sessions.find_expired(image, now_ms))

    def has_unsettled(self, image: MetadataImage, now_ms: int) -> bool:
        """True when `SettlePartitions` has something to do; looked up once for each state."""
        if self._is_held(now_ms):
            return False
        if self._settled.is_same(image, self._sessions.heard):
            return False
        if next(find_unsettled(image, self._sessions.has_heard), None) is not None:
            return True
        self._settled = Settled(image, self._sessions.heard)
        return False

    def is_quiet(self, command: Any, image: MetadataImage, now_ms: int) -> bool:  # of any row
        """True when `handle` would give this command no records, whatever else is decided."""
        row = COMMANDS[type(command)]
        context = self._context(now_ms, Slice(0))
        return row.is_quiet is not None and row.is_quiet(command, image, context)

    def handle(
        self,
        command: Any,  # of any row
        image: MetadataImage,
        now_ms: int,
        *,
        room: int | None = None,
        bytes_left: int | None = None,
        rest: object = None,
    ) -> Decision[Any]:  # as the command's row says
        """Decide on a command: its records, and its reply once they have committed.

        A command that was followed already, by its id, gets the reply it had then. A large plan is
        decided as far as the batch has `room` for partitions, by default a whole batch's: hand the
        command in again until the decision `is_last`. It has an id from then on; a kind without ids
        goes on from the `rest` of the last decision.

        Raises `NoRoomError` for records of more than `bytes_left`: hand the command in again, or
        refuse it.
        """
        part = Slice(self._config.partitions_per_batch_max if room is None else room, rest=rest)
        decision = self._follow(COMMANDS[type(command)], command, image, now_ms, part)
        size_bytes = size_of(decision.records)
        if bytes_left is not None and size_bytes > bytes_left:
            raise NoRoomError(size_bytes)
        if is_numbered(command):
            self._attempts.note(command, image)
        return decision

    def _follow(
        self,
        row: CommandRow[Any, Any],
        command: Any,
        image: MetadataImage,
        now_ms: int,
        part: Slice,
    ) -> Decision[Any]:  # as above
        try:
            reply = command_ids.earlier_reply(row, command, image)
            if reply is not None:
                return Decision([], reply)
            decision = self._decide(row, command, image, now_ms, part)
            if not decision.is_last and row.needs_id:
                # Its progress is found by its id.
                drawn = command.command_id or self._random.randbytes(command_ids.COMMAND_ID_BYTES)
                command.command_id = drawn
            return command_ids.remember(row, command, decision, image)
        except KafkaError as error:
            return Decision([], row.refuse(error))

    def _decide(
        self,
        row: CommandRow[Any, Any],
        command: Any,
        image: MetadataImage,
        now_ms: int,
        part: Slice,
    ) -> Decision[Any]:  # as above
        if is_numbered(command):
            self._attempts.check(command, image)
        if row.is_refused_while_held and self._is_held(now_ms):
            raise BrokerNotAvailableError(
                "the cluster is stopping: ISRs stay as they are, try again after the hold",
            )
        part = command_ids.next_slice(row, command, image, part)
        return row.decide(command, image, self._context(now_ms, part))

    def _context(self, now_ms: int, part: Slice) -> ControllerContext:
        return ControllerContext(
            config=self._config,
            random=self._random,
            sessions=self._sessions,
            vacancies=self._vacancies,
            now_ms=now_ms,
            is_held=self._is_held(now_ms),
            part=part,
        )

    def _is_held(self, now_ms: int) -> bool:
        return self._held_until_ms is not None and now_ms < self._held_until_ms
