"""A user's assignor, and its result checked before a group relies on it."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    GroupSpec,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps


class InvalidAssignmentError(ValueError):
    """A user's assignor raised, or its result breaks a rule; names the assignor and the rule."""

    def __init__(self, assignor: str, wrong: str, remedy: str) -> None:
        super().__init__(f"assignor {assignor!r} {wrong}; {remedy}")


class UserAssignor(Protocol):
    """An assignor as users write it: a generator of slices, or a function of the group."""

    @property
    def name(self) -> str:
        """The name under which members ask for it."""

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None] | Assignment:
        """Assign at once, or in slices as an `interface.Assignor`; members may be left out."""


class ValidatedAssignor:
    """A user's assignor; `source` is where its class was found, for messages."""

    def __init__(self, assignor: UserAssignor, source: str) -> None:
        self.name = assignor.name
        self._assignor = assignor
        self._source = source

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        """Assign in the assignor's slices, then check; raise InvalidAssignmentError.

        A plain function is one slice, however long it takes.
        """
        try:
            yield from self._assign(group)
        except InvalidAssignmentError:
            raise
        except Exception as error:  # whatever its result does when it is looked at
            raise self._raised(error) from error

    def _assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        steps = Steps()
        result = yield from self._result(group)
        if not isinstance(result, Mapping):
            raise self._error(
                f"gave {_shown(result)}", "give partitions (topic id, number) by member id"
            )
        takers = yield from self._takers(group, result, steps)
        yield from self._check_completeness(group, takers, steps)
        given: dict[str, set[TopicPartitionId]] = {m.member_id: set() for m in group.members}
        for partition, taker in takers.items():
            given[taker].add(partition)
            if steps.fill_slice():
                yield None
        yield {member_id: frozenset(partitions) for member_id, partitions in given.items()}

    def _result(self, group: GroupSpec) -> Sliced[object]:
        # The group is checked against afterwards: it changes none of it.
        shown = replace(
            group,
            partition_counts=MappingProxyType(dict(group.partition_counts)),
            topic_names=MappingProxyType(dict(group.topic_names)),
        )
        made: object = self._assignor.assign(shown)
        if not isinstance(made, Iterator):
            return made
        results = list[object]()
        for result in made:
            if result is not None:
                results.append(result)
            if len(results) > 1:
                break  # perhaps it never ends
            yield None
        if len(results) != 1:
            remedy = "yield None after each slice and the assignment once"
            raise self._error(f"yielded {'two' if results else 'no'} assignments", remedy)
        return results[0]

    def _takers(
        self, group: GroupSpec, result: Mapping[object, object], steps: Steps
    ) -> Sliced[dict[TopicPartitionId, str]]:
        """Members by partition; each is known, and subscribed to an existing partition."""
        members = {member.member_id: member for member in group.members}
        takers: dict[TopicPartitionId, str] = {}
        for member_id, partitions in result.items():
            if not isinstance(member_id, str) or member_id not in members:
                remedy = "give partitions to the group's members only"
                raise self._error(f"assigned to the unknown member {_shown(member_id)}", remedy)
            for item in self._items(member_id, partitions):
                partition = self._partition(member_id, item)
                topic, number = partition
                if topic not in members[member_id].topic_ids:
                    wrong = f"assigned {_named(group, partition)} to {member_id!r}"
                    raise self._error(wrong, "give members partitions of their topics only")
                if not 0 <= number < group.partition_counts.get(topic, 0):
                    wrong = f"assigned {_named(group, partition)}, which does not exist"
                    raise self._error(wrong, "count partitions by `partition_counts`, from 0")
                if takers.setdefault(partition, member_id) != member_id:
                    both = f"{takers[partition]!r} and {member_id!r}"
                    wrong = f"assigned {_named(group, partition)} to both {both}"
                    raise self._error(wrong, "give each partition to one member")
                if steps.fill_slice():
                    yield None
        return takers

    def _check_completeness(
        self, group: GroupSpec, takers: Mapping[TopicPartitionId, str], steps: Steps
    ) -> Sliced[None]:
        subscribed = set[bytes]()
        for member in group.members:
            subscribed |= member.topic_ids
            if steps.fill_slice(len(member.topic_ids)):
                yield None
        for topic, count in group.partition_counts.items():
            for number in range(count if topic in subscribed else 0):
                if (topic, number) not in takers:
                    wrong = f"left out {_named(group, (topic, number))}"
                    remedy = "give each partition of a subscribed topic to a member"
                    raise self._error(wrong, remedy)
                if steps.fill_slice():
                    yield None

    def _items(self, member_id: str, partitions: object) -> list[object]:
        if isinstance(partitions, Iterable):
            return list(partitions)
        wrong = f"gave {member_id!r} {_shown(partitions)}"
        raise self._error(wrong, "give a set of (topic id, number)")

    def _partition(self, member_id: str, item: object) -> TopicPartitionId:
        match item:
            case (bytes() as topic, int() as number):
                return topic, number
        wrong = f"gave {member_id!r} {_shown(item)}"
        raise self._error(wrong, "give pairs (topic id as bytes, partition number)")

    def _raised(self, error: Exception) -> InvalidAssignmentError:
        return self._error(f"raised {error!r}", "see its traceback, and mend the assignor")

    def _error(self, wrong: str, remedy: str) -> InvalidAssignmentError:
        return InvalidAssignmentError(self._source, wrong, remedy)


def _named(group: GroupSpec, partition: TopicPartitionId) -> str:
    topic, number = partition
    return f"partition {number} of topic {group.topic_names.get(topic, topic.hex())!r}"


def _shown(value: object) -> str:
    """Shorten a user's value for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
