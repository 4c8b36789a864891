"""The shell under coordinators: loads their shards, appends for them, awaits commits.

A *shard* is the state of one partition of an internal topic, as long as this broker leads it in one
leader epoch. It is loaded to the log's end, since it will commit what it finds there; of each piece
that is read, the newest record of each key. Each decision is appended and replayed at once; nothing
is answered before all that it saw is committed. When the leadership ends, the shard is thrown away,
and those who wait hear of it: a read, that this is no coordinator any more; a write, that its
outcome is unknown.

Transactions end with markers, which their own coordinators have appended: the shard hears of each
in the log's order, at once, or as it is loaded (`on_marker_appended`).

An append that failed half way leaves a log of which nobody knows the end: the shard is loaded
again. Source: Kafka's CoordinatorRuntime.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tidelog.broker.coordinator.append_refusals import check_room, refusal_of
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.record_batches import encode_batches
from tidelog.broker.coordinator.slice_replay import Shard, replay_slice
from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_loader import LoadEnd, PartitionLoader
from tidelog.broker.partition.partition_writer import AppendedMarker, PartitionWriter
from tidelog.broker.partition_adder import Producer
from tidelog.core.background import Background
from tidelog.core.env import Clock
from tidelog.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
    RequestTimedOutError,
    TidelogError,
)
from tidelog.core.logs import get_logger

log = get_logger(__name__)

LOAD_BACKOFF_S = 1.0
"""Wait before a load that failed is tried again."""


S = TypeVar("S", bound=Shard)
T = TypeVar("T")


class Status(Enum):
    """Life of a shard."""

    LOADING = auto()
    ACTIVE = auto()
    OVER = auto()


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A caller that waits until records below `offset` are committed."""

    offset: int
    is_write: bool
    done: asyncio.Future[None]


class _Queued(NamedTuple):
    """A decision that waits for the end of the loop's step."""

    decide: Callable[[Any], tuple[list[CoordinatorRecord], Any]]  # of the shard; its own result
    done: asyncio.Future[Any]


class RuntimeWatch(Protocol[S]):
    """Observer of shards; it decides nothing."""

    def replaying(
        self, hosted: Hosted[S], records: Sequence[CoordinatorRecord], replay: Callable[[], None]
    ) -> None:
        """Call `replay` once: the records of a decision were appended, see `Hosted.end_offset`."""

    def on_committed(self, hosted: Hosted[S]) -> None:
        """The high watermark of a shard has risen."""

    def on_loaded(self, hosted: Hosted[S], *, records: int, took_ms: int) -> None:
        """A shard is active from now on."""

    def on_ended(self, hosted: Hosted[S]) -> None:
        """A shard is over, see `Hosted.end_cause`."""


class Hosted(Generic[S]):
    """A shard of a partition that this broker leads, and who waits for its commits."""

    def __init__(
        self,
        leadership: Leadership,
        shard: S,
        *,
        writer: PartitionWriter,
        clock: Clock,
        on_broken: Callable[[], None],
        watch: RuntimeWatch[S] | None = None,
    ) -> None:
        self.leadership = leadership
        self.shard = shard
        self.status = Status.LOADING
        self.end_cause = ""
        """Reason for which it is over."""
        self.end_offset = 0
        """Exclusive end of the records that the shard has seen."""
        self.high_watermark = 0
        self._writer = writer
        self._clock = clock
        self._on_broken = on_broken
        self._watch = watch
        self._has_read_all = False
        self._markers_end = 0
        """Exclusive end of the last marker that was appended."""
        self._waiters: OrderedDict[_Waiter, None] = OrderedDict()
        """In the order of their offsets; who stops waiting takes itself off."""
        self._queued: list[_Queued] = []

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self.leadership.partition

    def append(
        self, records: Sequence[CoordinatorRecord], *, producer: Producer | None = None
    ) -> int:
        """Append a decision's records and replay them; return the end that it saw.

        `producer`: in its transaction, of which this partition is a part. With no records, a read:
        the end of all before. Raises `KafkaError` with nothing appended or replayed;
        `RequestTimedOutError` when the outcome is unknown: the shard is `OVER` then, and is to be
        loaded again.
        """
        self.check_active()
        for number, batch in enumerate(encode_batches(records, self._clock.wall_ms(), producer)):
            try:
                written = (
                    self._writer.append(self.leadership, batch)
                    if producer is None
                    else self._writer.append_for_producer(self.leadership, batch)
                )
            except TidelogError as error:
                if number or error.is_outcome_unknown:
                    self.end(f"an append failed half way: {error}")
                    asyncio.get_running_loop().call_soon(self._on_broken)
                    raise _unknown(str(error)) from error
                raise refusal_of(error, self.leadership.topic) from error
            self.end_offset = written.end_offset
        if records:
            self._replay(records, producer)
        return self.end_offset

    def check_room(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int) -> None:
        """Check that each record fits the log, and one larger by `spare_bytes`, too.

        Raises `InvalidRequestError`, and as `append`.
        """
        self.check_active()
        try:
            limit = self._writer.batch_bytes_max(self.leadership)
        except TidelogError as error:
            raise refusal_of(error, self.leadership.topic) from error
        for record in records:
            check_room(record, spare_bytes=spare_bytes, batch_bytes_max=limit)

    def note_marker(self, marker: AppendedMarker) -> None:
        """Apply the end of a transaction, unless it is still to be read from the log."""
        self._markers_end = marker.offset + 1
        if self.status is Status.OVER or not self._has_read_all:
            return
        self.end_offset = self._markers_end
        self._watched(
            self.shard.pending_of(marker.producer_id),
            lambda: self.shard.replay_end(marker.producer_id, is_commit=marker.is_commit),
        )

    def has_read_all(self) -> bool:
        """True if no marker lies behind what was read; from now on `note_marker` applies them."""
        self._has_read_all = self.end_offset >= self._markers_end
        return self._has_read_all

    def _replay(self, records: Sequence[CoordinatorRecord], producer: Producer | None) -> None:
        def replay() -> None:
            for record in records:
                if producer is None:
                    self.shard.replay(record)
                else:
                    self.shard.replay_pending(record, producer.id)

        self._watched(records, replay)

    def _watched(self, records: Sequence[CoordinatorRecord], replay: Callable[[], None]) -> None:
        if self._watch is None or self.status is not Status.ACTIVE:
            replay()
        else:
            self._watch.replaying(self, records, replay)

    def append_soon(
        self, decide: Callable[[S], tuple[list[CoordinatorRecord], T]]
    ) -> asyncio.Future[tuple[int, T]]:
        """Decide at the end of this step of the loop, and append with others of the step.

        For decisions that do not see each other's records. Their records share a batch; the result
        is the end offset and what `decide` returned, or what it raised, or what `append` did.
        """
        if not self._queued:
            asyncio.get_running_loop().call_soon(self._append_queued)
        done: asyncio.Future[tuple[int, T]] = asyncio.get_running_loop().create_future()
        self._queued.append(_Queued(decide, done))
        return done

    def _append_queued(self) -> None:
        queued, self._queued = self._queued, []
        decided: list[tuple[asyncio.Future[Any], Any]] = []  # with its result
        records: list[CoordinatorRecord] = []
        for one in queued:
            if one.done.done():
                continue  # its caller has gone
            try:
                self.check_active()
                of_one, result = one.decide(self.shard)
            except Exception as error:  # noqa: BLE001  # its caller's edge answers it
                one.done.set_exception(error)
                continue
            records += of_one
            decided.append((one.done, result))
        try:
            end = self.append(records) if decided else 0
        except Exception as error:  # noqa: BLE001  # as above
            for done, _ in decided:
                done.set_exception(error)
            return
        for done, result in decided:
            done.set_result((end, result))

    async def committed(self, end_offset: int, *, is_write: bool, timeout_ms: int) -> None:
        """Wait until the records below `end_offset` are committed.

        Raises for a write `RequestTimedOutError`: its outcome is unknown. For a read,
        `NotCoordinatorError` when the leadership ended, `CoordinatorNotAvailableError` when the
        time is over.
        """
        if end_offset <= self.high_watermark:
            return
        if self.status is Status.OVER:
            raise _gone(is_write=is_write)
        waiter = _Waiter(end_offset, is_write, asyncio.get_running_loop().create_future())
        self._waiters[waiter] = None
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await waiter.done
        except TimeoutError:
            message = f"the in-sync replicas did not have it within {timeout_ms} ms"
            raise (
                _unknown(message) if is_write else CoordinatorNotAvailableError(message)
            ) from None
        finally:
            self._waiters.pop(waiter, None)

    def note_high_watermark(self, high_watermark: int) -> None:
        """Wake those whose records are committed."""
        self.high_watermark = max(self.high_watermark, high_watermark)
        while self._waiters and next(iter(self._waiters)).offset <= self.high_watermark:
            _wake(self._waiters.popitem(last=False)[0], None)
        if self._watch is not None:
            self._watch.on_committed(self)

    def end(self, why: str) -> None:
        """End the shard; those who wait get their error."""
        if self.status is Status.OVER:
            return
        log.info("coordinator ends", partition=_name(self.leadership), why=why)
        self.status, self.end_cause = Status.OVER, why
        while self._waiters:
            waiter, _ = self._waiters.popitem(last=False)
            _wake(waiter, _gone(is_write=waiter.is_write))

    def check_active(self) -> None:
        """Raise `CoordinatorLoadInProgressError` or `NotCoordinatorError` unless it is loaded."""
        if self.status is Status.LOADING:
            raise _loading(self.leadership)
        if self.status is Status.OVER:
            raise _gone(is_write=False)


class RuntimeHooks(Protocol[S]):
    """The coordinator above: makes shards, and is called when they end."""

    def new_shard(self, leadership: Leadership) -> S:
        """Make the empty state of a partition."""

    async def on_loaded(self, hosted: Hosted[S]) -> None:
        """A shard has all records of its log; it is asked nothing before this returns."""

    def on_ended(self, hosted: Hosted[S]) -> None:
        """A shard is over."""


class CoordinatorRuntime(Generic[S]):
    """The shards of the partitions of one internal topic that this broker leads.

    A `PartitionListener`.
    """

    def __init__(
        self,
        *,
        hooks: RuntimeHooks[S],
        writer: PartitionWriter,
        loader: PartitionLoader,
        clock: Clock,
        background: Background,
        watch: RuntimeWatch[S] | None = None,
    ) -> None:
        self.loads = 0
        """Number of partitions loaded since the start."""
        self._watch = watch
        self._hooks = hooks
        self._writer = writer
        self._loader = loader
        self._clock = clock
        self._background = background
        self._hosted: dict[int, Hosted[S]] = {}
        self._loading: dict[int, asyncio.Task[None]] = {}

    def find(self, partition: int) -> Hosted[S]:
        """Find the active shard of a partition. Raises as `Hosted.check_active`."""
        hosted = self._hosted.get(partition)
        if hosted is None:
            raise NotCoordinatorError("this broker is not the coordinator: look it up again")
        if hosted.status is Status.OVER:
            raise _loading(hosted.leadership)  # it is about to be loaded again
        hosted.check_active()
        return hosted

    def active(self) -> Iterator[Hosted[S]]:
        """Iterate over the active shards, as of now."""
        return (one for one in list(self._hosted.values()) if one.status is Status.ACTIVE)

    @property
    def loading(self) -> int:
        """Number of shards that are not loaded yet."""
        return sum(one.status is not Status.ACTIVE for one in self._hosted.values())

    # PartitionListener

    def on_election(self, leadership: Leadership) -> None:
        """See `PartitionListener`."""
        self._begin(leadership, high_watermark=0)

    def on_high_watermark_updated(self, leadership: Leadership, high_watermark: int) -> None:
        """See `PartitionListener`."""
        hosted = self._hosted.get(leadership.partition)
        if hosted is not None and hosted.leadership == leadership:
            hosted.note_high_watermark(high_watermark)

    def on_marker_appended(self, leadership: Leadership, marker: AppendedMarker) -> None:
        """Apply a marker; see `PartitionWriter.watch_markers`.

        Of another leadership than the shard's: it is in the log that the next one is loaded from.
        """
        hosted = self._hosted.get(leadership.partition)
        if hosted is not None and hosted.leadership == leadership:
            hosted.note_marker(marker)

    def on_resignation(self, leadership: Leadership, end: LeadershipEnd) -> None:
        """See `PartitionListener`."""
        hosted = self._hosted.pop(leadership.partition, None)
        if (task := self._loading.pop(leadership.partition, None)) is not None:
            task.cancel()
        if hosted is not None:
            hosted.end(end.name)
            self._note_end(hosted)

    def _note_end(self, hosted: Hosted[S]) -> None:
        self._hooks.on_ended(hosted)
        if self._watch is not None:
            self._watch.on_ended(hosted)

    # Loading

    def _reload(self, hosted: Hosted[S]) -> None:
        """Load a shard again whose log's end is unknown, while its leadership lasts."""
        if self._hosted.get(hosted.partition) is hosted:
            self._note_end(hosted)
            self._begin(hosted.leadership, high_watermark=hosted.high_watermark)

    def _begin(self, leadership: Leadership, *, high_watermark: int) -> None:
        shard = self._hooks.new_shard(leadership)
        hosted = Hosted(
            leadership,
            shard,
            writer=self._writer,
            clock=self._clock,
            on_broken=lambda: self._reload(hosted),
            watch=self._watch,
        )
        hosted.note_high_watermark(high_watermark)
        self._hosted[leadership.partition] = hosted
        name = f"load-{_name(leadership)}"
        self._loading[leadership.partition] = self._background.spawn(name, self._load(hosted))

    async def _load(self, hosted: Hosted[S]) -> None:
        began_ms = self._clock.monotonic_ms()
        while True:
            try:
                count = await self._read(hosted)
                break
            except TidelogError as error:
                log.warning(
                    "coordinator not loaded", partition=_name(hosted.leadership), error=str(error)
                )
                await asyncio.sleep(LOAD_BACKOFF_S)
                # What was read is of no use: records may have been deleted meanwhile.
                hosted.shard = self._hooks.new_shard(hosted.leadership)
        await self._hooks.on_loaded(hosted)
        self._loading.pop(hosted.partition, None)
        if hosted.status is Status.OVER:
            return
        self.loads += 1
        hosted.status = Status.ACTIVE
        took_ms = self._clock.monotonic_ms() - began_ms
        log.info(
            "coordinator loaded",
            partition=_name(hosted.leadership),
            leader_epoch=hosted.leadership.leader_epoch,
            records=count,
            took_ms=took_ms,
        )
        if self._watch is not None:
            self._watch.on_loaded(hosted, records=count, took_ms=took_ms)

    async def _read(self, hosted: Hosted[S]) -> int:
        """Read to the log's end, markers that are appended meanwhile too; nobody else appends."""
        slices = self._loader.slices(hosted.leadership, LoadEnd.LOG_END)
        count = 0
        while True:
            async for one in slices:
                count += await replay_slice(hosted.shard, one)
                hosted.end_offset = one.next_offset
            if hosted.has_read_all():
                return count
            slices = self._loader.slices(
                hosted.leadership, LoadEnd.LOG_END, start=hosted.end_offset
            )


def _wake(waiter: _Waiter, error: TidelogError | None) -> None:
    if waiter.done.done():
        return  # its caller has gone, or its time was over
    if error is None:
        waiter.done.set_result(None)
    else:
        waiter.done.set_exception(error)


def _gone(*, is_write: bool) -> TidelogError:
    if is_write:
        return _unknown("the coordinator moved before the in-sync replicas had it")
    return NotCoordinatorError("this broker is not the coordinator any more: look it up again")


def _unknown(why: str) -> RequestTimedOutError:
    return RequestTimedOutError(f"{why}: the outcome is unknown")


def _loading(leadership: Leadership) -> CoordinatorLoadInProgressError:
    return CoordinatorLoadInProgressError(
        f"the coordinator is reading {_name(leadership)}: try again"
    )


def _name(leadership: Leadership) -> str:
    return f"{leadership.topic}-{leadership.partition}"
