"""Stories: clients whose picture of the cluster is an old one."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.history.history import ACKS_ALL
from tidelog.v1 import common_pb2

EPOCHS_MISSED = 3
REDIRECTED_S_MAX = 2.0
RECREATIONS = 2
NO_SUCH_TOPIC = (
    common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
    common_pb2.UNKNOWN_TOPIC_ID,
    common_pb2.INCONSISTENT_TOPIC_ID,
)


@scenario("F63")
async def stale_metadata(run: ScenarioRun) -> None:
    """Producers wake with metadata three epochs old: they are refused, redirected, and go on."""
    await run.last(0.5, 1.5)
    await run.hush()
    first, epoch = run.leader, run.now.leader_epoch
    await _miss_epochs(run, first)
    await run.comes(lambda: run.epoch(first) == run.now.leader_epoch, "the first one follows")
    run.expect(run.now.leader_epoch >= epoch + EPOCHS_MISSED, "three epochs")
    run.expect(not run.is_leading(first), "another one leads")
    woken_s = run.now_s
    run.load.is_held = False
    await run.comes(
        lambda: run.count_answers(common_pb2.NOT_LEADER_OR_FOLLOWER, by=first, since_s=woken_s),
        "refused by who led three epochs ago",
    )
    await run.must_come(
        lambda: run.count_answers(common_pb2.NONE, since_s=woken_s, acks=ACKS_ALL),
        "redirected",
        within_s=REDIRECTED_S_MAX,
    )
    await run.in_sync()


async def _miss_epochs(run: ScenarioRun, first: int) -> None:
    """Stop leaders in turn; `first` returns last, and so does not lead."""
    gone = first
    for _ in range(EPOCHS_MISSED):
        await run.stop(gone)
        leader = await run.another_leads(gone)
        if gone != first:
            await run.start(gone)
            await run.comes(partial(run.is_in_sync, gone), "in sync again")
        gone = leader
    await run.start(first)


@scenario("F64", Needs(is_recreated=True, has_separate_controllers=False))
async def topic_recreated(run: ScenarioRun) -> None:
    """A topic is deleted under its producers and created again: nothing old is in the new one."""
    for _ in range(RECREATIONS):
        await run.last(1.0, 2.0)
        topic_id, ended_s = run.image.topics[run.topic].topic_id, run.now_s
        run.expect(max(map(run.end, run.now.replicas)) > 0, "it holds something")
        run.strike("recreate", run.topic)
        await run.load.recreate(run.topic)
        run.expect(
            run.count_answers(*NO_SUCH_TOPIC, since_s=ended_s),
            "producers of the old one were refused",
        )
        await run.must_come(partial(_is_another_life, run, topic_id), "another topic id")
        await run.acknowledged_again()


def _is_another_life(run: ScenarioRun, topic_id: bytes) -> bool:
    """True if the topic is there under another id."""
    found = run.image.topics.get(run.topic)
    return found is not None and found.topic_id != topic_id
