"""Placement of replicas: never two of a partition on one broker, over all racks, evenly spread.

Kafka's two rounds of shifts: first replicas go round the brokers from `start`; the others follow at
a distance that begins at `shift` and grows by one with each round, so that the followers of one
broker's partitions are spread over all others. With racks (KIP-36) the round alternates between
them, and a partition takes another broker of a rack only when every rack has one of it. Then single
followers move from the fullest to the emptiest brokers while that costs no rack.

Fenced brokers are used only where the live ones are too few, and never first (KIP-631). Brokers
without a rack, where others have one, are a rack of their own, as in KRaft.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from tidelog.core.errors import invariant

_SHIFTS_TRIED_MAX = 3
"""Attempts at an even spread: where racks prevent it for one shift, the next mostly has it."""

Assigned = tuple[int, ...]


class BrokerSlot(NamedTuple):
    """A broker that may hold replicas; `rack` "": it has none."""

    broker_id: int
    rack: str = ""
    is_live: bool = True


def place_replicas(
    slots: Iterable[BrokerSlot], *, partitions: int, replication_factor: int, start: int, shift: int
) -> list[Assigned]:
    """Replicas of each partition, preferred leader first; the caller draws `start` and `shift`.

    Expects at least one live broker, and a broker for each replica.
    """
    slots = list(slots)
    live = _alternate([slot for slot in slots if slot.is_live])
    fenced = _alternate([slot for slot in slots if not slot.is_live])
    invariant(bool(live), "a live broker leads", live)
    invariant(0 < replication_factor <= len(slots), "a broker for each replica", replication_factor)
    count = min(replication_factor, len(live))
    racks = _racks(slots)
    placed: list[Assigned] = []
    for further in range(_SHIFTS_TRIED_MAX):
        placed = _place(live, racks, partitions, count, start=start, shift=shift + further)
        if unevenness(live, placed) <= 1:
            break
    missing = replication_factor - count
    return [
        (*first, *_spread(first, _rotate(fenced, number), racks, missing))
        for number, first in enumerate(placed)
    ]


def unevenness(brokers: Sequence[int], placed: Iterable[Sequence[int]]) -> int:
    """The difference in replicas between the fullest broker and the emptiest."""
    load = _load(brokers, placed)
    return max(load.values()) - min(load.values())


def next_start(slots: Iterable[BrokerSlot], last_leader: int) -> int:
    """The place at which the round goes on after a partition that `last_leader` is first in."""
    live = _alternate([slot for slot in slots if slot.is_live])
    return live.index(last_leader) + 1 if last_leader in live else 0


def _alternate(slots: Sequence[BrokerSlot]) -> list[int]:
    """The first broker of each rack, then the second of each, and so on."""
    by_rack: dict[str, list[int]] = {}
    for slot in sorted(slots):
        by_rack.setdefault(slot.rack, []).append(slot.broker_id)
    rounds = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker_id for broker_id in chain.from_iterable(rounds) if broker_id is not None]


def _racks(slots: Sequence[BrokerSlot]) -> Mapping[int, str]:
    """The rack of each broker; where no broker has one, each broker is a rack."""
    has_racks = any(slot.rack for slot in slots)
    return {slot.broker_id: slot.rack if has_racks else str(slot.broker_id) for slot in slots}


def _place(
    ring: Sequence[int],
    racks: Mapping[int, str],
    partitions: int,
    count: int,
    *,
    start: int,
    shift: int,
) -> list[Assigned]:
    placed = []
    for number in range(partitions):
        place = (start + number) % len(ring)
        others = [ring[(place + 1 + step) % len(ring)] for step in range(len(ring) - 1)]
        turned = _rotate(others, shift + number // len(ring))
        first = ring[place]
        placed.append((first, *_spread((first,), turned, racks, count - 1)))
    _level(ring, racks, placed)
    return placed


def _rotate(brokers: Sequence[int], by: int) -> Iterator[int]:
    return (brokers[(by + step) % len(brokers)] for step in range(len(brokers)))


def _spread(
    chosen: Sequence[int], candidates: Iterable[int], racks: Mapping[int, str], count: int
) -> list[int]:
    """The first `count` of the candidates, those of racks that hold none of `chosen` before all."""
    used = {racks[one] for one in chosen}
    of_new_racks: list[int] = []
    rest: list[int] = []
    for one in candidates:
        if len(of_new_racks) == count:
            break
        if racks[one] in used:
            rest.append(one)
        else:
            used.add(racks[one])
            of_new_racks.append(one)
    return [*of_new_racks, *rest][:count]


def _level(ring: Sequence[int], racks: Mapping[int, str], placed: list[Assigned]) -> None:
    """Move followers until no move makes the load of two brokers more alike."""
    load = _load(ring, placed)
    while (move := _next_move(racks, placed, load)) is not None:
        number, fuller, emptier = move
        placed[number] = _move(placed[number], fuller, emptier)
        load[fuller] -= 1
        load[emptier] += 1


def _next_move(
    racks: Mapping[int, str], placed: Sequence[Assigned], load: Mapping[int, int]
) -> tuple[int, int, int] | None:
    """A partition, the broker that it leaves, and the one that takes it."""
    by_load = sorted(load, key=lambda one: load[one])
    for fuller in reversed(by_load):
        for emptier in by_load:
            if load[fuller] - load[emptier] < 2:
                break
            for number, assigned in enumerate(placed):
                if fuller in assigned[1:] and emptier not in assigned:
                    moved = _move(assigned, fuller, emptier)
                    if _rack_count(moved, racks) >= _rack_count(assigned, racks):
                        return number, fuller, emptier
    return None


def _move(assigned: Assigned, source: int, target: int) -> Assigned:
    return tuple(target if one == source else one for one in assigned)


def _rack_count(assigned: Assigned, racks: Mapping[int, str]) -> int:
    return len({racks[one] for one in assigned})


def _load(brokers: Sequence[int], placed: Iterable[Sequence[int]]) -> dict[int, int]:
    load = dict.fromkeys(brokers, 0)
    for assigned in placed:
        for one in assigned:
            if one in load:
                load[one] += 1
    return load
