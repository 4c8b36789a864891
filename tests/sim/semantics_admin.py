"""Cases of administration, by either protocol."""

from __future__ import annotations

from tests.sim.both_protocols import (
    APPEND,
    DELETE,
    LATEST,
    SET,
    SUBTRACT,
    Calls,
    NewTopic,
    codes,
    until,
)


async def a_topic_is_created_once(calls: Calls, name: str) -> None:
    """By counts, at any broker; again it is there already; a dry run changes nothing."""
    new = NewTopic(name, partitions=2, configs={"retention.ms": "100000"})
    assert await calls.create(2, new, is_dry=True) == 0
    assert {(await calls.leaders(2, name))[0]} == codes("UNKNOWN_TOPIC_OR_PARTITION")
    assert await calls.create(2, new) == 0
    code, leaders = await calls.leaders(2, name)
    assert (code, len(leaders)) == (0, 2)
    assert (await calls.configs(2, name))[1]["retention.ms"] == "100000"
    assert {await calls.create(3, new)} == codes("TOPIC_ALREADY_EXISTS")
    assert {await calls.create(3, new, is_dry=True)} == codes("TOPIC_ALREADY_EXISTS")


async def what_a_topic_cannot_be_is_refused(calls: Calls, name: str) -> None:
    """Its name, counts, brokers and configs; and it is not there then."""
    cases = (
        (NewTopic("no/" + name), "INVALID_TOPIC"),
        (NewTopic(name, partitions=-2), "INVALID_PARTITIONS"),
        (NewTopic(name, replicas=-2), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name, replicas=4), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name, brokers=[[1, 1, 2]]), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic(name, brokers=[[1, 2, 9]]), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic(name, configs={"no.such.config": "1"}), "INVALID_CONFIG"),
        (NewTopic(name, configs={"retention.ms": "long"}), "INVALID_CONFIG"),
    )
    for topic, expected in cases:
        assert {await calls.create(1, topic)} == codes(expected), topic
        assert {await calls.create(1, topic, is_dry=True)} == codes(expected), topic
    assert {(await calls.leaders(1, name))[0]} == codes("UNKNOWN_TOPIC_OR_PARTITION")


async def a_deleted_topic_is_gone(calls: Calls, name: str) -> None:
    """At every broker, and can be made anew."""
    await calls.made(name)
    assert await calls.delete(2, name) == 0
    assert {(await calls.leaders(2, name))[0]} == codes("UNKNOWN_TOPIC_OR_PARTITION")
    assert {await calls.delete(2, name)} == codes("UNKNOWN_TOPIC_OR_PARTITION")
    await calls.made(name)
    assert (await calls.find(1, name, LATEST)).offset == 0


async def partitions_are_added_and_never_taken(calls: Calls, name: str) -> None:
    """A count that is not higher, or too high, is refused."""
    await calls.made(name, 2)
    assert await calls.grow(3, name, 4) == 0
    assert len((await calls.leaders(3, name))[1]) == 4
    for count in (4, 3, 0):
        assert {await calls.grow(3, name, count)} == codes("INVALID_PARTITIONS")
    assert {await calls.grow(3, name + "-no", 9)} == codes("UNKNOWN_TOPIC_OR_PARTITION")


async def configs_are_set_appended_to_and_taken_back(calls: Calls, name: str) -> None:
    """Each operation; what is wrong changes nothing, and a dry run neither."""
    await calls.made(name)

    async def now(key: str) -> str:
        code, configs = await calls.configs(1, name)
        assert code == 0
        return configs[key]

    default = await now("retention.ms")
    assert await calls.alter(1, name, {"retention.ms": (SET, "5000")}, is_dry=True) == 0
    assert await now("retention.ms") == default
    assert await calls.alter(1, name, {"retention.ms": (SET, "5000")}) == 0
    assert await now("retention.ms") == "5000"
    assert await calls.alter(1, name, {"cleanup.policy": (APPEND, "compact")}) == 0
    assert await now("cleanup.policy") == "delete,compact"
    assert await calls.alter(1, name, {"cleanup.policy": (SUBTRACT, "delete")}) == 0
    assert await now("cleanup.policy") == "compact"
    assert await calls.alter(1, name, {"retention.ms": (DELETE, None)}) == 0
    assert await now("retention.ms") == default
    wrong = {"retention.ms": (SET, "77"), "no.such.config": (SET, "1")}
    assert {await calls.alter(1, name, wrong)} == codes("INVALID_CONFIG")
    assert await now("retention.ms") == default
    unknown = codes("UNKNOWN_TOPIC_OR_PARTITION")
    assert {await calls.alter(1, name + "-no", {"retention.ms": (SET, "1")})} == unknown
    assert {(await calls.configs(1, name + "-no"))[0]} == unknown


async def the_preferred_leader_is_elected(calls: Calls, name: str) -> None:
    """Where it leads already, there is nothing to do; after its restart it leads again."""
    await calls.made(name)
    assert {await calls.elect(2, name)} == codes("ELECTION_NOT_NEEDED")
    assert {await calls.elect(2, name, 7)} == codes("UNKNOWN_TOPIC_OR_PARTITION")
    calls.cluster.kill(1)

    async def leads_no_more() -> bool:
        return (await calls.leaders(2, name))[1][0] not in (1, -1)

    async def is_elected() -> bool:
        return await calls.elect(2, name) == 0

    async def leads_again() -> bool:
        return (await calls.leaders(2, name))[1] == [1]

    await until(leads_no_more)
    calls.cluster.start(1)
    for is_so in (is_elected, leads_again, calls.is_up):
        await until(is_so)


ADMIN = (
    a_topic_is_created_once,
    what_a_topic_cannot_be_is_refused,
    a_deleted_topic_is_gone,
    partitions_are_added_and_never_taken,
    configs_are_set_appended_to_and_taken_back,
    the_preferred_leader_is_elected,
)
