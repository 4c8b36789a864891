"""The context of a decision outside a controller: nobody was heard of, and nothing is held."""

from __future__ import annotations

from tidelog.core.system import SystemRandom
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.plans import Slice
from tidelog.metadata.sessions import Sessions, Vacancies


def decision_context(config: ControllerConfig | None = None) -> ControllerContext:
    config = config or ControllerConfig(cluster_id="tide")
    return ControllerContext(
        config=config,
        random=SystemRandom(),
        sessions=Sessions(config.session_timeout_ms),
        vacancies=Vacancies(),
        now_ms=0,
        is_held=False,
        part=Slice(config.partitions_per_batch_max),
    )
