"""Setup of a member's process: one JSON file. Pure."""

from __future__ import annotations

from tidelog.chaos.sockets.child_setup import ChildSetup
from tidelog.chaos.workloads.plans import MemberPlan


class MemberSetup(ChildSetup[MemberPlan]):
    """A member, and its way to the brokers."""

    PLAN = MemberPlan
