"""The stories by their ids: what each claims, on which stages it is told, and what it needs.

Each is the storm of a run of its own, over one partition. What comes before and after, and what is
judged besides its own promises, is the same for all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tidelog.chaos.scenarios import (
    acks,
    clients,
    control,
    controllers,
    damage,
    disks,
    epochs,
    foreign,
    hostile,
    late_calls,
    leaders,
    links,
    network,
    starvation,
    storms,
)
from tidelog.chaos.story.scene import Scene
from tidelog.chaos.workloads.plans import CHURNED, LOSSY, STEADY

SIM, SOCKETS = "sim", "sockets"
BOTH = frozenset({SIM, SOCKETS})
SIM_ONLY = frozenset({SIM})
SOCKETS_ONLY = frozenset({SOCKETS})


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story; the docstring of `tell` is its claim."""

    name: str
    """For people who do not know the ids."""
    tell: Callable[[Scene], Awaitable[None]]
    stages: frozenset[str] = BOTH
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
    """None: as the stage has them; else each of them has entries in its index."""
    is_damaging: bool = False
    """Files or disks are damaged, and nodes tell of it."""
    disk_bytes: int | None = None
    """Sockets: every broker's disk is one in memory of so many bytes."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Sockets: of every node."""
    acks: tuple[int, ...] = (-1, -1, 1)
    """Of the producers."""
    reader_groups: tuple[str, ...] = ()
    """Sockets: further groups of clients; each is a reader on links of its own."""

    @property
    def claim(self) -> str:
        """What it shows, in a sentence."""
        return " ".join((self.tell.__doc__ or "").split())

    @property
    def topic(self) -> str:
        """Its name says what may happen to it."""
        return LOSSY if self.is_lossy else CHURNED if self.is_recreated else STEADY

    @property
    def min_insync_replicas(self) -> int:
        """Of the topic, which has three replicas."""
        return 1 if self.is_lossy else 2


SCENARIOS: dict[str, Scenario] = {
    "control": Scenario("no-fault", control.control, SOCKETS_ONLY),
    "F01": Scenario("leader-killed", leaders.f01, has_separate_controllers=False),
    "F02": Scenario("leader-stopped", leaders.f02, has_separate_controllers=False),
    "F03": Scenario("leader-paused", leaders.f03, has_separate_controllers=False),
    "F04": Scenario("leader-cut-from-followers", links.f04),
    "F05": Scenario("leader-cut-from-controllers", links.f05),
    "F06": Scenario("split-with-clients", links.f06),
    "F07": Scenario("follower-restarts", leaders.f07, has_separate_controllers=False),
    "F08": Scenario("slow-follower", links.f08),
    "F09": Scenario("flapping-link", links.f09),
    "F10": Scenario("isr-expansion-race", links.f10),
    "F11": Scenario("too-few-in-sync", leaders.f11),
    "F12": Scenario("log-truncation", epochs.f12),
    "F13": Scenario("late-high-watermark", epochs.f13, SIM_ONLY),
    "F14": Scenario("two-leaders-die", epochs.f14, SIM_ONLY),
    "F15": Scenario("unclean-leaders", epochs.f15, SIM_ONLY, is_lossy=True),
    "F16": Scenario("missed-epoch", epochs.f16),
    "F17": Scenario("elections-without-writes", epochs.f17),
    "F18": Scenario("truncation-without-records", epochs.f18, SIM_ONLY),
    "F19": Scenario("unclean-election", leaders.f19, is_lossy=True),
    "F20": Scenario("last-replica-standing", leaders.f20, SIM_ONLY, is_flushed=False),
    "F21": Scenario("controller-killed", controllers.f21),
    "F22": Scenario("controller-cut-off", controllers.f22),
    "F23": Scenario("controller-paused", controllers.f23),
    "F24": Scenario("two-controllers-deaf", controllers.f24),
    "F25": Scenario("no-quorum", controllers.f25),
    "F26": Scenario("controllers-restart", controllers.f26),
    "F29": Scenario("spoilt-journal", controllers.f29, is_damaging=True),
    "F31": Scenario("late-heartbeats", network.f31, SOCKETS_ONLY),
    "F32": Scenario("torn-write", damage.f32, SIM_ONLY, is_flushed=False),
    "F33": Scenario("bit-flip-in-log", damage.f33, is_damaging=True),
    "F34": Scenario("spoilt-files", damage.f34, segment_bytes=1500, is_damaging=True),
    "F35": Scenario("missing-segment", damage.f35, SIM_ONLY, segment_bytes=800, is_damaging=True),
    "F36": Scenario("disk-full", disks.f36, disk_bytes=16 << 20, is_damaging=True),
    "F37": Scenario("disk-error", disks.f37, SIM_ONLY, is_flushed=True),
    "F39": Scenario("power-outage", disks.f39, SIM_ONLY, is_flushed=True),
    "F40": Scenario("lost-acks", network.f40, SOCKETS_ONLY),
    "F48": Scenario("slow-consumer", network.f48, SOCKETS_ONLY, reader_groups=(network.SLOW,)),
    "F49": Scenario("sliced-links", network.f49, SOCKETS_ONLY),
    "F50": Scenario("torn-connections", network.f50, SOCKETS_ONLY),
    "F51": Scenario("half-open-connections", network.f51, SOCKETS_ONLY),
    "F53": Scenario("rolling-restart", storms.f53),
    "F55": Scenario("malformed-requests", hostile.f55, SOCKETS_ONLY, settings=hostile.IMPATIENT),
    "F56": Scenario("oversized-requests", hostile.f56, SOCKETS_ONLY),
    "F58": Scenario("slow-loris", hostile.f58, SOCKETS_ONLY, settings=hostile.IMPATIENT),
    "F61": Scenario("total-outage", disks.f61, has_separate_controllers=False),
    "F62": Scenario("soup", storms.f62, is_flushed=False, is_damaging=True, has_churn=True),
    "F63": Scenario("stale-metadata", clients.f63),
    "F64": Scenario(
        "topic-recreated",
        clients.f64,
        is_recreated=True,
        has_separate_controllers=False,
    ),
    "foreign": Scenario(
        "foreign-node", foreign.foreign_node, SOCKETS_ONLY, has_separate_controllers=False
    ),
    "forged": Scenario("forged-raft", foreign.forged_raft, SOCKETS_ONLY),
    "acks": Scenario("acks-compared", acks.acks_compared, SOCKETS_ONLY, acks=(-1, 1, 0)),
    "asymmetric": Scenario("leader-mute", storms.asymmetric),
    "late-isr-attempt": Scenario("late-isr-attempt", late_calls.late_isr_attempt, SIM_ONLY),
    "ring": Scenario("ring-partition", storms.ring),
    "slow-majority": Scenario("slow-majority", controllers.slow_majority, is_flushed=False),
    "starved": Scenario("starved-nodes", starvation.starved, has_separate_controllers=False),
    "swizzle": Scenario("swizzled-nodes", storms.swizzle),
    "unread": Scenario(
        "unread-answers", hostile.unread_answers, SOCKETS_ONLY, settings=hostile.FORGETFUL
    ),
}


def of_stage(stage: str) -> dict[str, Scenario]:
    """Those told there, by id."""
    return {key: one for key, one in SCENARIOS.items() if stage in one.stages}


def id_of(word: str) -> str:
    """The id of a scenario by its id or name. Errors: `KeyError`."""
    if word in SCENARIOS:
        return word
    return {one.name: key for key, one in SCENARIOS.items()}[word]
