"""Mutants of the clients: what is sent again, what is said of what was given up, what is read."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from typing import Any

from tidelog.client.consuming import fetcher
from tidelog.client.errors import DeliveryTimeoutError, TidelogError
from tidelog.client.producing import outcomes
from tidelog.client.producing.accumulator import Accumulator
from tidelog.client.producing.outcomes import Outcomes
from tidelog.client.producing.sequences import Sequences
from tidelog.client.routing import Routing
from tidelog.records.batch import BATCHES_PER_PRODUCER_MAX, parse_header
from tidelog.records.records import iter_records, rebuild_batch
from tidelog.simulation.mutants.mutant import replaces

_give_up = Outcomes._give_up
_note_failure = outcomes._note_failure


@replaces(Outcomes, "_give_up")
def timeout_reported_as_refusal(
    self: Outcomes, batch: Any, error: TidelogError, *, is_fenced: bool = False
) -> None:
    """A record that was not acknowledged in time is reported as certainly not stored."""
    if isinstance(error, DeliveryTimeoutError):
        batch.is_outcome_unknown = error.is_outcome_unknown = False
    _give_up(self, batch, error, is_fenced=is_fenced)


@replaces(outcomes, "_note_failure")
def only_last_error_counts(batch: Any, error: TidelogError) -> None:
    """A refusal makes forget that an attempt before it may have been stored."""
    batch.last_error = error
    batch.is_outcome_unknown = error.is_outcome_unknown


@replaces(outcomes, "_note_failure")
def keys_lost_at_a_retry(batch: Any, error: TidelogError) -> None:
    """A batch that is sent again has its records without their keys."""
    _note_failure(batch, error)
    records = [one._replace(key=None) for one in iter_records(batch.data)]
    batch.data = rebuild_batch(parse_header(batch.data), records, delete_horizon_ms=None)


@replaces(Accumulator, "renumber")
def stored_batches_renumbered(self: Accumulator[Any], tp: Any) -> list[Any]:
    """Records that may be stored are sent again under other numbers (KIP-360)."""
    queue, sequences = self._queues.get(tp), self._sequences
    is_in_flight = queue is not None and queue.is_in_flight
    if sequences is not None and not is_in_flight and sequences.is_broken(tp):
        sequences.end_epoch(tp)
        if queue is not None:
            queue.sent.clear()
            for batch in queue.waiting:
                batch.numbers = None
    self._note(tp)
    return []


@replaces(Sequences, "in_flight_max")
def unknown_epochs_pipelined(_self: Sequences, _tp: Any) -> int:
    """Several batches fly before the log knows their epoch: it takes the first it sees."""
    return BATCHES_PER_PRODUCER_MAX


@replaces(fetcher, "is_awaited")
def late_answers_handed_out(_position: Any, _offset: Any) -> bool:
    """A silent leader's late records are handed out, though another's were."""
    return True


@replaces(Routing, "_ask_for_topics")
async def deleted_topics_made_again(self: Routing) -> None:
    """Each refresh of a producer asks for all topics that it has known, and may create them."""
    names = list({**self._interest, **self._waiting})
    await self._ask(names, may_create=self._config.allow_auto_topic_creation)
