"""Cases of coordinators, committed offsets and members of groups, by either protocol."""

from __future__ import annotations

import asyncio

from tests.sim.both_protocols import Beat, Calls, Committed, Heartbeat, codes

GONE = -1
"""Epoch of a member that leaves."""


class Member:
    """A member that acknowledges what it is given."""

    def __init__(self, calls: Calls, node: int, group_id: str, member_id: str) -> None:
        # A connection of its own.
        self.calls = type(calls)(calls.cluster)
        self.node = node
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}

    async def ask(self, heartbeat: Heartbeat) -> Beat:
        """Send a heartbeat and do as asked."""
        answer = await self.calls.beat(self.node, heartbeat)
        if not answer.code:
            self.epoch = answer.epoch
            if answer.assignment is not None:
                self.owned = answer.assignment
        return answer

    async def join(self, *topics: str, instance_id: str | None = None) -> Beat:
        """Join with nothing owned."""
        self.owned = {}
        return await self.ask(
            Heartbeat(self.group_id, self.member_id, 0, topics, {}, instance_id=instance_id)
        )

    async def beat(self, epoch: int | None = None) -> Beat:
        """Acknowledge what it owns, or with another epoch leave."""
        at = self.epoch if epoch is None else epoch
        return await self.ask(Heartbeat(self.group_id, self.member_id, at, None, self.owned))

    def count(self) -> int:
        """How many partitions it owns."""
        return sum(map(len, self.owned.values()))


async def until_shared(*members: Member, each: int) -> None:
    """Beat until every member owns so many, and has said so."""
    for _ in range(100):
        for one in members:
            assert (await one.beat()).code == 0
        if all(one.count() == each for one in members):
            return
        await asyncio.sleep(0.2)
    raise AssertionError([one.owned for one in members])


async def every_broker_names_the_same_coordinator(calls: Calls, name: str) -> None:
    """And the one that it names takes the group's calls; others refuse them."""
    home = await calls.home(name)
    for node in (1, 2, 3):
        assert await calls.coordinator(node, name) == (0, home)
    other = home % 3 + 1
    refused = codes("NOT_COORDINATOR")
    assert {(await calls.committed(other, name))[0]} == refused
    assert await calls.commit(other, name, {("t", 0): Committed(1)}) <= refused | codes(
        "UNKNOWN_TOPIC_OR_PARTITION"
    )


async def a_groups_name_is_checked(calls: Calls, name: str) -> None:
    """It has 1 to 249 characters."""
    for bad in ("", name + "g" * 250):
        assert {(await calls.coordinator(1, bad))[0]} == codes("INVALID_GROUP_ID")


async def offsets_are_committed_by_who_is_no_member(calls: Calls, name: str) -> None:
    """With epoch and text; what was never committed is -1; later ones replace earlier ones."""
    await calls.made(name, 3)
    node = await calls.home(name)
    first = {(name, 0): Committed(5, 0, "text"), (name, 2): Committed(7)}
    assert await calls.commit(node, name, first) == {0}
    assert await calls.committed(node, name) == (0, first)
    asked = [(name, 0), (name, 1)]
    assert await calls.committed(node, name, asked) == (
        0,
        {(name, 0): Committed(5, 0, "text"), (name, 1): Committed(-1)},
    )
    assert await calls.commit(node, name, {(name, 0): Committed(4)}) == {0}
    assert (await calls.committed(node, name))[1][name, 0] == Committed(4)


async def commits_of_what_is_not_there_are_refused(calls: Calls, name: str) -> None:
    """Topics, partitions, members, and texts that are too long."""
    await calls.made(name)
    node = await calls.home(name)
    unknown = codes("UNKNOWN_TOPIC_OR_PARTITION")
    assert await calls.commit(node, name, {(name, 9): Committed(1)}) == unknown
    assert await calls.commit(node, name, {(name + "-no", 0): Committed(1)}) == unknown
    long = {(name, 0): Committed(1, -1, "x" * 5000)}
    assert await calls.commit(node, name, long) == codes("OFFSET_METADATA_TOO_LARGE")
    offset = {(name, 0): Committed(1)}
    nobody = await calls.commit(node, name, offset, member_id="nobody", epoch=3)
    assert nobody <= codes("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND")
    assert nobody
    assert (await calls.committed(node, name))[1] == {}


async def offsets_are_deleted_and_then_the_group(calls: Calls, name: str) -> None:
    """What is deleted reads as -1; a group without anything is unknown."""
    await calls.made(name, 2)
    node = await calls.home(name)
    await calls.commit(node, name, {(name, 0): Committed(5), (name, 1): Committed(6)})
    assert await calls.forget(node, name, name) == {0}
    assert await calls.committed(node, name) == (0, {(name, 1): Committed(6)})
    assert (await calls.groups(node))[name][1] == "Empty"
    assert await calls.delete_group(node, name) == 0
    assert await calls.committed(node, name) == (0, {})
    assert {await calls.delete_group(node, name)} == codes("GROUP_ID_NOT_FOUND")
    assert await calls.forget(node, name, name) == codes("GROUP_ID_NOT_FOUND")


async def members_share_a_topic(calls: Calls, name: str) -> None:
    """Each partition is one member's, and of the other one when the first has left."""
    await calls.made(name, 2)
    node = await calls.home(name)
    one, two = (Member(calls, node, name, f"{name}-{word}") for word in ("one", "two"))
    assert (await one.join(name)).code == 0
    await until_shared(one, each=2)
    assert (await two.join(name)).code == 0
    await until_shared(one, two, each=1)
    shares = [numbers for member in (one, two) for numbers in member.owned.values()]
    assert sorted(number for numbers in shares for number in numbers) == [0, 1]
    group = await calls.describe(node, name)
    assert (group.code, group.state) == (0, "Stable")
    assert group.members == {one.member_id, two.member_id}
    assert (await calls.groups(node))[name] == ("consumer", "Stable")
    assert {await calls.delete_group(node, name)} == codes("NON_EMPTY_GROUP")
    assert (await one.beat(GONE)).code == 0
    await until_shared(two, each=2)
    assert (await two.beat(GONE)).code == 0
    assert (await calls.describe(node, name)).state == "Empty"


async def a_member_is_known_by_id_and_epoch(calls: Calls, name: str) -> None:
    """Strangers are unknown, epochs of the future fenced, commits of an older epoch stale."""
    await calls.made(name)
    node = await calls.home(name)
    one = Member(calls, node, name, f"{name}-one")
    await one.join(name)
    await until_shared(one, each=1)
    stranger = Member(calls, node, name, "stranger")
    stranger.epoch = one.epoch
    assert {(await stranger.beat()).code} == codes("UNKNOWN_MEMBER_ID")
    assert {(await one.beat(one.epoch + 7)).code} == codes("FENCED_MEMBER_EPOCH")
    offset = {(name, 0): Committed(3)}
    by_one = {"member_id": one.member_id}
    assert await calls.commit(node, name, offset, **by_one, epoch=one.epoch) == {0}
    stale = codes("STALE_MEMBER_EPOCH")
    assert await calls.commit(node, name, offset, **by_one, epoch=one.epoch + 7) == stale
    assert (await calls.committed(node, name))[1] == offset


async def a_static_member_is_replaced_by_its_instance_alone(calls: Calls, name: str) -> None:
    """While it lives, its instance id is taken; it takes a member's place that left for a while."""
    await calls.made(name)
    node = await calls.home(name)
    one, again = (Member(calls, node, name, f"{name}-{word}") for word in ("one", "again"))
    assert (await one.join(name, instance_id="i")).code == 0
    await until_shared(one, each=1)
    refused = await again.join(name, instance_id="i")
    assert {refused.code} == codes("UNRELEASED_INSTANCE_ID")
    leaves = Heartbeat(name, one.member_id, -2, instance_id="i")
    assert (await one.ask(leaves)).code == 0
    assert (await again.join(name, instance_id="i")).code == 0
    assert again.count() == 1, "what the other one had, at once"


async def a_subscription_to_a_topic_that_comes_later_is_met(calls: Calls, name: str) -> None:
    """The member waits with nothing until the topic is there."""
    node = await calls.home(name)
    one = Member(calls, node, name, f"{name}-one")
    assert (await one.join(name)).code == 0
    await until_shared(one, each=0)
    await calls.made(name, 2)
    await until_shared(one, each=2)


GROUPS = (
    every_broker_names_the_same_coordinator,
    a_groups_name_is_checked,
    offsets_are_committed_by_who_is_no_member,
    commits_of_what_is_not_there_are_refused,
    offsets_are_deleted_and_then_the_group,
    members_share_a_topic,
    a_member_is_known_by_id_and_epoch,
    a_static_member_is_replaced_by_its_instance_alone,
    a_subscription_to_a_topic_that_comes_later_is_met,
)
