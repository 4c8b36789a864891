"""An internal topic as a broker has it made, at the first look-up of a coordinator ever.

    state of the topic                            what who asks for it is told
    it is there, or was just made                 nothing
    refused, or no controller answers             COORDINATOR_NOT_AVAILABLE, the reason: ask again
    refused for good, for `REFUSED_FOR_MS`        the controllers' own refusal: of no use to ask

The last line ends the wait of clients of either protocol that would ask for ever, as for more
replicas than there are brokers. Decides nothing about the topic: see `ControllerForwarder`.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.core.env import Clock
from tidelog.core.errors import CoordinatorNotAvailableError, KafkaError, TidelogError
from tidelog.core.journal import Event, Kind
from tidelog.core.logs import get_logger
from tidelog.metadata.image import MetadataImage
from tidelog.v1.admin_pb2 import NewTopic

RETRY_MS = 500
"""Least time between two attempts; who asks meanwhile hears what came of the last."""
REFUSED_FOR_MS = 30_000
"""Time for which it is refused before clients are told not to ask again."""

log = get_logger(__name__)


class InternalTopic:
    """See the module. `factor_key` is the config with the topic's replication factor."""

    def __init__(
        self,
        topic: NewTopic,
        *,
        factor_key: str,
        image: Callable[[], MetadataImage],
        forwarder: ControllerForwarder,
        clock: Clock,
        note: Callable[[Event], None],
    ) -> None:
        self._topic = topic
        self._factor_key = factor_key
        self._image = image
        self._forwarder = forwarder
        self._clock = clock
        self._note = note
        self._failure: TidelogError | None = None
        """Outcome of the last attempt; None: there was none, or it succeeded."""
        self._failed_ms = self._first_failed_ms = 0

    @property
    def partitions(self) -> int:
        """Number of its partitions; 0: it does not exist yet."""
        found = self._image().topics.get(self._topic.name)
        return 0 if found is None else len(found.partitions)

    @property
    def obstacle(self) -> str:
        """Reason for which somebody waits for the topic; empty: nobody does."""
        if self._failure is None or self.partitions:
            return ""
        return self._reason(self._failure)

    async def require(self) -> None:
        """Have it made unless it exists, and wait until it is known.

        Raises `CoordinatorNotAvailableError`; the controllers' refusal where that is for good.
        """
        if self.partitions:
            return
        now_ms = self._clock.monotonic_ms()
        if self._failure is None or now_ms - self._failed_ms >= RETRY_MS:
            await self._attempt()
        if self._failure is not None:
            raise self._refusal(self._failure)
        if not self.partitions:
            raise CoordinatorNotAvailableError(
                f"{self._topic.name} was just created, and this broker has not heard of it yet: "
                "try again"
            )

    async def _attempt(self) -> None:
        try:
            await self._forwarder.create_internal(self._topic)
        except TidelogError as error:
            self._failed_ms = self._clock.monotonic_ms()
            if self._failure is None:
                self._first_failed_ms = self._failed_ms
                log.warning("internal topic not created", topic=self._topic.name, error=f"{error}")
            self._failure = error
            cause = self._reason(error)
            self._note(Event(Kind.REFUSAL, cause, after="not created", topic=self._topic.name))
        else:
            self._failure = None

    def _refusal(self, failure: TidelogError) -> TidelogError:
        """Say why there is no topic; for good once that has lasted."""
        message = self._reason(failure)
        age_ms = self._failed_ms - self._first_failed_ms
        if (
            isinstance(failure, KafkaError)
            and not failure.is_retriable
            and age_ms >= REFUSED_FOR_MS
        ):
            return type(failure)(message)
        return CoordinatorNotAvailableError(message)

    def _reason(self, failure: TidelogError) -> str:
        return (
            f"{self._topic.name} could not be created: {failure} "
            f"(its replicas are {self._factor_key})"
        )
