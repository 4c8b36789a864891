"""Scenarios: a story under an id, and the surroundings it needs.

A module of `tidelog.chaos.scenarios` decorates its story; `catalogue` finds it there:

    @scenario("F02", Needs(has_separate_controllers=False))
    async def leader_stopped(run: ScenarioRun) -> None:
        \"\"\"The leader stops in order: it hands over before it ends.\"\"\"

A story is the storm of a run of its own, over one partition. What comes before and after, and the
checks besides its own promises, are the same for every scenario.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.workloads.plans import CHURNED, LOSSY, STEADY, GroupPlan, TransactionPlan

SIM, SOCKETS = "sim", "sockets"
BOTH = frozenset({SIM, SOCKETS})
SIM_ONLY = frozenset({SIM})
SOCKETS_ONLY = frozenset({SOCKETS})

GRPC_CLIENT, KAFKA_CLIENT = "grpc", "kafka"
CLIENT_KINDS = (GRPC_CLIENT, KAFKA_CLIENT)
"""Whose clients produce, read and are members: ours, or aiokafka, by Kafka's protocol."""
OURS_ONLY = frozenset({GRPC_CLIENT})
EVERY_CLIENT = frozenset(CLIENT_KINDS)

Story = Callable[[ScenarioRun], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Surroundings of a scenario."""

    runs_on: frozenset[str] = BOTH
    has_separate_controllers: bool = True
    """So that brokers can be cut from each other, or be gone, and controllers decide."""
    is_lossy: bool = False
    """Unclean elections are allowed: what they lose is counted."""
    is_recreated: bool = False
    """The topic is deleted and created again."""
    has_churn: bool = False
    """Sockets: operators work meanwhile, and another topic comes and goes."""
    is_flushed: bool | None = None
    """flush.messages=1; None: as drawn, or not."""
    segment_bytes: int | None = None
    """None: the default; else each segment has entries in its index."""
    is_damaging: bool = False
    """Files or disks are damaged, and nodes report it."""
    disk_bytes: int | None = None
    """Sockets: every broker's disk is in memory and of this size."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Sockets: configuration of every node."""
    clients: frozenset[str] = OURS_ONLY
    """Clients that it runs with."""
    has_kafka_listeners: bool = False
    """Sockets: brokers have listeners of Kafka's protocol with any clients."""
    acks: tuple[int, ...] = (-1, -1, 1)
    """Acks of the producers, one each."""
    reader_groups: tuple[str, ...] = ()
    """Sockets: further groups of clients; each is a reader on links of its own."""

    group: GroupPlan | None = None
    """A consumer group that reads a topic of its own meanwhile."""
    transactions: TransactionPlan | None = None
    """Transactions that write to a topic of their own meanwhile."""


USUAL = Needs()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story; the docstring of `story` is its claim."""

    scenario_id: str
    story: Story
    needs: Needs = USUAL

    @property
    def name(self) -> str:
        """The story's name, for people who do not know the ids."""
        return getattr(self.story, "__name__", self.scenario_id).replace("_", "-")

    @property
    def claim(self) -> str:
        """The promise it tests, in a sentence or two."""
        return " ".join((self.story.__doc__ or "").split())

    @property
    def topic(self) -> str:
        """The topic's name, which says what may happen to it."""
        needs = self.needs
        return LOSSY if needs.is_lossy else CHURNED if needs.is_recreated else STEADY

    @property
    def min_insync_replicas(self) -> int:
        """min.insync.replicas of the topic, which has three replicas."""
        return 1 if self.needs.is_lossy else 2


def scenario(scenario_id: str, needs: Needs = USUAL) -> Callable[[Story], Scenario]:
    """Decorate a story; its function's name becomes the scenario's."""

    def of(story: Story) -> Scenario:
        return Scenario(scenario_id, story, needs)

    return of
