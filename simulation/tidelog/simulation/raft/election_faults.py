"""Faults tied to what voters say, not to the clock: they strike in the one moment that matters.

A vote, a leader's first word, the first answer of a voter with a new disk: such moments are short
and random faults rarely meet them. Each fault here waits for one and does then what may happen at
any time: kill, cut, wipe. None knows what the product would do wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.network import Link, Weather
from tidelog.simulation.raft.simulation import Voter
from tidelog.v1.raft_pb2 import RaftMessage

ELECTION_S_MAX = 2.0
ANSWERS_MAX = 60
VOTES = frozenset({"vote_granted"})
LEADERS_ONLY = frozenset({"append_entries", "install_snapshot"})
ANSWERS_TO_LEADERS = frozenset({"append_entries_reply", "install_snapshot_reply"})

_EARLY = (False, 0.0, 0.0)
_LATE = [(True, 0.0, 0.0), (True, 0.0, 0.0), (False, 0.001, 0.04), (False, 0.1, 0.8)]
"""When a leader falls: at its first commit, not its first word, and how many seconds after."""


class ElectionFaults:
    """`kinds` by name."""

    def __init__(self, actions: FaultActions) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "struck_at_vote": self._struck_at_vote,
            "fall_of_leaders": self._fall_of_leaders,
            "hoard": self._hoard,
            "wiped_at_election": self._wiped_at_election,
            "relapse": self._relapse,
        }

    async def _struck_at_vote(self) -> None:
        """Strike elections in a row: voters end when they have voted, leaders when elected.

        They are back while rivals still ask, and what these ask is slow to arrive.
        """
        actions, simulation = self._actions, self._simulation
        actions.count("struck_at_vote")
        weather = Weather(delay_s_max=actions.random.uniform(0.03, 0.25))
        simulation.network.weather = weather
        end_s = simulation.scheduler.now_s + actions.random.uniform(1.5, 4.0)
        leader = simulation.leader()
        if leader is not None:
            await self._strike_shortly(leader)
        while simulation.scheduler.now_s < end_s:
            known = max(simulation.checks.wire.leader_by_term, default=0)
            heard = await actions.hear(
                partial(_is_vote_or_leaders, known_term=known),
                within_s=end_s - simulation.scheduler.now_s,
            )
            if heard is not None and actions.happens(0.8):
                await self._strike_shortly(simulation.voters[heard.sender_id])
        if simulation.network.weather is weather:
            simulation.network.weather = Weather()

    async def _strike_shortly(self, voter: Voter) -> None:
        if self._actions.happens(0.5):
            self._actions.count("crash", voter.name)
            self._simulation.crash(voter)
        else:
            await self._actions.last(0.0, 0.005)
            self._actions.count("kill", voter.name)
            self._simulation.kill(voter)
        await self._actions.last(0.0, 0.06)
        await self._actions.start(voter)

    async def _fall_of_leaders(self) -> None:
        """Each new leader is cut off early, and the one before it comes back.

        Answers to the first are on their way until it falls again.
        """
        actions, simulation = self._actions, self._simulation
        leader = simulation.leader()
        if leader is None:
            return
        actions.count("fall_of_leaders", leader.name)
        weather = Weather(delay_s_max=actions.random.uniform(0.002, 0.06))
        simulation.network.weather = weather
        await self._delay_answers(leader)
        fallen = actions.links_between([leader.node_id])
        simulation.network.cut(fallen)
        actions.flood(leader, actions.random.randrange(1, 40))
        for number in range(actions.random.randrange(2, 7)):
            is_early = number % 2 == 0 if actions.happens(0.7) else actions.happens(0.5)
            links, node_id = await self._fall(*(_EARLY if is_early else actions.one_of(_LATE)))
            actions.mend(fallen)
            fallen = links
            if node_id == leader.node_id:
                await actions.last(0.0, 0.55)
                simulation.network.release()
                await actions.last(0.2, 1.0)
            if not links or simulation.scheduler.now_s > actions.end_s:
                break
        await actions.last(0.0, 1.2)
        actions.mend(fallen)
        simulation.network.release()
        if simulation.network.weather is weather:
            simulation.network.weather = Weather()

    async def _delay_answers(self, leader: Voter) -> None:
        """Hold answers to it from now on, until the network is asked to release them."""
        late = [link for link in self._actions.links() if link[1] == leader.node_id]
        self._simulation.network.hold(late)
        await self._actions.last(0.0, 0.25)
        self._simulation.network.pass_on(late)

    async def _fall(
        self,
        waits_for_commit: bool,  # noqa: FBT001  # of a table above
        low_s: float,
        high_s: float,
    ) -> tuple[list[Link], int]:
        """Cut off the next leader: at its first word, at its first commit, or soon after."""
        actions, simulation = self._actions, self._simulation
        known = max(simulation.checks.wire.leader_by_term, default=0)
        first_commits: dict[int, int] = {}
        cut: list[Link] = []

        def cut_off(message: RaftMessage) -> None:
            if not cut:
                cut.extend(actions.links_between([message.sender_id]))
                simulation.network.cut(cut)

        def falls(message: RaftMessage) -> bool:
            if not _is_leaders(message, known):
                return False
            commit_index = message.append_entries.commit_index
            first = first_commits.setdefault(message.term, commit_index)
            return not waits_for_commit or commit_index > first

        heard = await actions.hear(
            falls, within_s=ELECTION_S_MAX, at_once=_nothing if high_s else cut_off
        )
        if heard is None:
            return [], 0
        await actions.last(low_s, high_s)
        cut_off(heard)
        actions.count("isolate", f"n{heard.sender_id}")
        if actions.happens(0.25):
            await self._strike_shortly(simulation.voters[heard.sender_id])
        return cut, heard.sender_id

    async def _hoard(self) -> None:
        """A leader cut off from all but its clients comes back when its successor is gone.

        Or with its successor's words waiting for it, having slept through the election.
        """
        actions, simulation = self._actions, self._simulation
        leader = simulation.leader()
        if leader is None or leader.driver is None:
            return
        is_asleep, is_succeeded = actions.happens(0.5), actions.happens(0.6)
        actions.count("hoard", f"{leader.name}{', asleep' * is_asleep}")
        actions.count("isolate", leader.name)
        term = leader.driver.term
        links = actions.links_between([leader.node_id])
        simulation.network.cut(links)
        actions.flood(leader, actions.random.randrange(5, 40))
        await actions.last(0.03, 0.15)
        if is_asleep:
            simulation.pause(leader)
        if not is_succeeded:
            actions.mend(links)
        heard = await actions.hear(
            lambda message: _is_leaders(message, term),
            within_s=ELECTION_S_MAX,
        )
        await actions.last(0.03, 0.4)
        gone: list[Link] = []
        if heard is not None and is_succeeded:
            gone = actions.links_between([heard.sender_id])
            simulation.network.cut(gone)
            actions.mend(links)
        elif is_succeeded:
            actions.mend(links)
        simulation.resume(leader)
        await actions.last(0.8, 2.0)
        actions.mend(gone)

    async def _wiped_at_election(self) -> None:
        """Form a second majority when the common voter has elected the first and lost its disk."""
        actions, simulation = self._actions, self._simulation
        leader = simulation.leader()
        if leader is None or leader.driver is None:
            return
        term, node_ids = leader.driver.term, actions.shuffled()
        node_ids.remove(leader.node_id)
        first = node_ids[: len(node_ids) // 2 + 1]
        actions.count("wiped_at_election", f"{sorted(first)} without {leader.name}")
        actions.count("partition", f"{sorted(first)} from the others")
        cuts = [actions.links_between(first)]
        simulation.network.cut(cuts[0])

        def cut_off(message: RaftMessage) -> None:
            cuts.append(actions.links_between([message.sender_id]))
            simulation.network.cut(cuts[-1])

        heard = await actions.hear(
            lambda message: _is_leaders(message, term),
            within_s=1.2,
            at_once=cut_off,
        )
        if heard is not None:
            await self._wipe_one(leader, first, heard.sender_id, cuts)
        for links in cuts:
            actions.mend(links)

    async def _wipe_one(
        self, leader: Voter, first: list[int], elected: int, cuts: list[list[Link]]
    ) -> None:
        actions, simulation = self._actions, self._simulation
        others = [node_id for node_id in first if node_id != elected]
        if not others:
            return
        victim = simulation.voters[actions.one_of(others)]
        if not actions.may_wipe(victim):
            return
        actions.wipe(victim)
        cuts.append(actions.links_between([i for i in first if i != victim.node_id]))
        simulation.network.cut(cuts[-1])
        actions.mend(cuts.pop(0))
        await actions.last(0.0, 0.02)
        simulation.start(victim)
        actions.flood(leader, actions.random.randrange(1, 10))
        await actions.last(0.2, 1.0)

    async def _relapse(self) -> None:
        """The common voter of two majorities loses its disk and comes back between them.

        Answers given before that are on their way for as long.
        """
        actions, simulation = self._actions, self._simulation
        leader = simulation.leader()
        if leader is None:
            return
        first = actions.bare_majority(leader.node_id)
        victim = simulation.voters[actions.one_of(first[1:])]
        friends = [node_id for node_id in first if node_id != victim.node_id]
        behind = [node_id for node_id in simulation.voters if node_id not in first]
        actions.count("relapse", f"{sorted(first)}, then {sorted([victim.node_id, *behind])}")
        links = actions.links_between(friends, behind)
        simulation.network.cut(links)
        await actions.last(0.0, 0.6)
        late = [(node_id, leader.node_id) for node_id in first[1:] if actions.happens(0.5)]
        simulation.network.hold(late)
        actions.flood(leader, actions.random.randrange(1, 50))
        await actions.last(0.02, 0.15)
        if actions.may_wipe(victim):
            actions.wipe(victim)
            simulation.network.pass_on([(victim.node_id, leader.node_id)])
            await actions.last(0.0, 0.03)
            simulation.start(victim)
            most = actions.random.randrange(1, 8) if actions.happens(0.5) else ANSWERS_MAX
            await self._hear_answers(victim, most)
        simulation.network.release()
        await actions.last(0.0, 0.01)
        actions.count("partition", f"{sorted(friends)} from the others")
        between = actions.links_between(friends)
        simulation.network.cut(between)
        await actions.last(0.8, 2.0)
        actions.mend(between)
        actions.mend(links)

    async def _hear_answers(self, voter: Voter, count: int) -> None:
        """Until it has answered a leader so often, or takes part."""
        for _ in range(count):
            if not voter.is_rejoining and count == ANSWERS_MAX:
                return
            heard = await self._actions.hear(
                lambda message: _is_answer_of(voter, message), within_s=0.7
            )
            if heard is None:
                return


def _nothing(_: RaftMessage) -> None:
    pass


def _is_vote_or_leaders(message: RaftMessage, known_term: int) -> bool:
    return message.WhichOneof("body") in VOTES or _is_leaders(message, known_term)


def _is_leaders(message: RaftMessage, known_term: int) -> bool:
    term: int = message.term
    return message.WhichOneof("body") in LEADERS_ONLY and term > known_term


def _is_answer_of(voter: Voter, message: RaftMessage) -> bool:
    sender: int = message.sender_id
    return message.WhichOneof("body") in ANSWERS_TO_LEADERS and sender == voter.node_id
